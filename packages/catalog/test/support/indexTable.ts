/**
 * The table of docs/adr/004-discovery-and-search.md, copied by hand, so that tests do not use the code's own statement.
 */
export const INDEX_TABLE = `CREATE TABLE sessions (
    path TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    cwd TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    message_count INTEGER NOT NULL,
    last_modified_ms INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    name TEXT
)`
