/** Trainers' templates against Jinja2, with every hostile text in every position. */
import "./TrainerTemplates.test.ts"
