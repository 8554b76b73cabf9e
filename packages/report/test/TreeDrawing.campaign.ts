/** Random trees, trees of 100,000 entries and walks through both Pis. */
import "./TreeDrawing.test.ts"
