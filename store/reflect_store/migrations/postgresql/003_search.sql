-- Layout 3: what is searched, a lesson in use as words and as tokens of its scope, and which lessons hold a word. Views are read by
-- both within the transaction that decides; the best of all that match are found by an index on the node, which is made from this.
-- `doc` is the place in the order of birth.

CREATE TABLE reflect_gate.search (
    tenant text COLLATE "C" NOT NULL,
    doc bigint NOT NULL,
    lesson_id text COLLATE "C" NOT NULL,
    words text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    sieve text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, doc),
    CONSTRAINT search_holds_a_lesson_once UNIQUE (tenant, lesson_id)
);

CALL reflect_gate.guard('reflect_gate.search');

CREATE TABLE reflect_gate.search_words (
    tenant text COLLATE "C" NOT NULL,
    word text COLLATE "C" NOT NULL,
    doc bigint NOT NULL,
    PRIMARY KEY (tenant, word, doc)
);

CALL reflect_gate.guard('reflect_gate.search_words');
