/** Hundreds of random sequences of operations, compared with a model. */
import "./StoreModel.test.ts"
