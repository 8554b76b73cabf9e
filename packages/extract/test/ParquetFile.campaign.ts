/** Parquet files of many random rows, and many damaged files. */
import "./ParquetFile.test.ts"
