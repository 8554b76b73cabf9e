/** Power cuts at every call of migrations and rollbacks, and of thousands of random programs. */
import "./CrashMigration.test.ts"
