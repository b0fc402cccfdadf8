-- Layout 3: which lessons were shown, what an outcome meant for each, and the search index. Projections are dropped and made anew
-- instead of altered, so that a migrated file is a fresh one; they are filled by folding the events.

CREATE TABLE retrievals (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    session TEXT NOT NULL,
    task TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX retrievals_by_time ON retrievals (time, event, key);

CREATE INDEX retrievals_by_session ON retrievals (session, time, event, key);

CREATE INDEX retrievals_by_task ON retrievals (task, time, event, key);

DROP TABLE outcomes;

CREATE TABLE outcomes (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    lesson_id TEXT NOT NULL,
    counted_on TEXT NOT NULL,
    outcome TEXT NOT NULL,
    effect TEXT NOT NULL,
    repository TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX outcomes_by_time ON outcomes (time, event, key);

CREATE INDEX outcomes_by_lesson_id ON outcomes (lesson_id, time, event, key);

CREATE INDEX outcomes_by_counted_on ON outcomes (counted_on, time, event, key);

CREATE INDEX outcomes_by_outcome ON outcomes (outcome, time, event, key);

CREATE INDEX outcomes_by_effect ON outcomes (effect, time, event, key);

CREATE INDEX outcomes_by_repository ON outcomes (repository, time, event, key);

-- A view asks for the held candidates of one signature, however many are held of others.
CREATE INDEX candidates_by_signature_and_status ON candidates (signature, status, time, event, key);

-- What is searched: a lesson in use, as words and as tokens of its scope. `doc` is its place in the order of birth.
CREATE TABLE search (
    doc INTEGER NOT NULL PRIMARY KEY,
    lesson_id TEXT NOT NULL UNIQUE,
    words TEXT NOT NULL,
    scope TEXT NOT NULL,
    sieve TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE search_index USING fts5 (
    words, scope, sieve, content = 'search', content_rowid = 'doc', tokenize = "porter unicode61"
);

-- Which lessons hold a word, by its stem, or a scope term, the eldest first: FTS5 finds the best of all that match, this finds a few
-- of those that hold one word at a cost that does not grow with the store.
CREATE TABLE search_words (
    word TEXT NOT NULL,
    doc INTEGER NOT NULL,
    PRIMARY KEY (word, doc)
) STRICT, WITHOUT ROWID;
