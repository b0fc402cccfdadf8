-- The search index: `search` holds what is searched, `search_index` finds it. The index keeps no text of its own, so whoever takes
-- a text out must say what it was.

-- name: find
SELECT doc, words, scope, sieve FROM search WHERE lesson_id = ?;

-- name: count
SELECT COUNT(*) FROM search;

-- name: taken
SELECT 1 FROM search WHERE doc = ?;

-- name: add_text
INSERT INTO search (doc, lesson_id, words, scope, sieve) VALUES (?, ?, ?, ?, ?);

-- name: add
INSERT INTO search_index (rowid, words, scope, sieve) VALUES (?, ?, ?, ?);

-- name: drop_text
DELETE FROM search WHERE doc = ?;

-- name: drop
INSERT INTO search_index (search_index, rowid, words, scope, sieve) VALUES ('delete', ?, ?, ?, ?);

-- The score of a row is worked out once, while the best are kept; only their texts are read.
-- name: search
SELECT search.lesson_id, -hits.score
FROM (
    SELECT rowid AS doc, bm25(search_index, 1.0, 1.0, 0.0) AS score
    FROM search_index WHERE search_index MATCH ? ORDER BY score, rowid LIMIT ?
) AS hits
JOIN search ON search.doc = hits.doc
ORDER BY hits.score, search.lesson_id;

-- name: holding
SELECT doc FROM search_words WHERE word = ? ORDER BY doc DESC LIMIT ?;

-- name: common
SELECT 1 FROM search_words WHERE word = ? LIMIT 1 OFFSET ?;

-- name: names
SELECT search.doc, search.lesson_id FROM json_each(?) AS wanted CROSS JOIN search ON search.doc = wanted.value;

-- name: add_word
INSERT INTO search_words (word, doc) VALUES (?, ?);

-- The words of all lessons before they are sorted: written as they come, each would go to a page of its own.
-- name: gather
CREATE TEMP TABLE search_gathered (word TEXT NOT NULL, doc INTEGER NOT NULL);

-- name: gather_word
INSERT INTO temp.search_gathered (word, doc) VALUES (?, ?);

-- name: empty_words
DELETE FROM search_words;

-- name: add_words
INSERT INTO search_words (word, doc) SELECT word, doc FROM temp.search_gathered ORDER BY word, doc;

-- name: gathered
DROP TABLE temp.search_gathered;

-- name: drop_word
DELETE FROM search_words WHERE word = ? AND doc = ?;

-- name: held_words
SELECT word, doc FROM search_words ORDER BY word, doc;

-- name: texts
SELECT doc, lesson_id, words, scope, sieve FROM search ORDER BY doc;

-- name: flush
SAVEPOINT search_index_flush;

-- name: flushed
RELEASE search_index_flush;

-- name: open_postings
CREATE VIRTUAL TABLE temp.search_postings USING fts5vocab (main, search_index, instance);

-- name: postings
SELECT term, doc, col, offset FROM temp.search_postings;

-- name: close_postings
DROP TABLE IF EXISTS temp.search_postings;

-- name: sizes
SELECT id, sz FROM search_index_docsize ORDER BY id;

-- Of an index that is empty again, FTS5 keeps noughts; of one that always was, nothing.
-- name: totals
SELECT block FROM search_index_data WHERE id = 1 AND replace(hex(block), '00', '') <> '';

-- name: rebuild
INSERT INTO search_index (search_index) VALUES ('rebuild');

-- What cannot be opened cannot be dropped, so that a damaged index is first made an empty one: its format, no totals, no segments.
-- name: empty_format
INSERT OR REPLACE INTO search_index_config (k, v) VALUES ('version', 4);

-- name: empty_data
DELETE FROM search_index_data;

-- name: empty_pages
DELETE FROM search_index_idx;

-- name: empty_structure
INSERT INTO search_index_data (id, block) VALUES (1, x''), (10, x'00000000000000');

-- name: drop_index
DROP TABLE IF EXISTS search_index;

-- name: drop_texts
DROP TABLE IF EXISTS search;

-- name: drop_words
DROP TABLE IF EXISTS search_words;
