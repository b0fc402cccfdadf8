"""Closed word lists of English that the measures share."""

from __future__ import annotations

__all__ = ["ACTION_VERBS", "FUNCTION_WORDS", "NEGATIONS", "STOP_WORDS", "TELLING_WORDS", "phrases", "word_set"]


def word_set(text: str) -> frozenset[str]:
    """Return the distinct words of a text that whitespace separates."""
    return frozenset(text.split())


def phrases(text: str) -> tuple[str, ...]:
    """Return the phrases that commas separate, each between spaces, to be looked for in words joined by spaces."""
    return tuple(f" {' '.join(phrase.split())} " for phrase in text.split(",") if phrase.strip())


NEGATIONS = word_set(
    """
    no not never none neither nor without cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt shouldnt couldnt
    hasnt havent hadnt nothing fails failed fail failing hardly lacks lacked lacking
    """
)
"""Words that turn round what follows them in the same clause; contractions stand without their apostrophe."""

FUNCTION_WORDS = word_set(
    """
    the and that this these those with without for not are is were been being from which when whenever where while if of to by be
    it its they them their there then than because since should must would could can cannot will may might has have had having
    does did doing done you your yours we our us but into onto before after until unless instead rather only each every any all
    both either neither such same other another what who whose why how also between through during against about above below
    under over again once here very just too more most some few least less own dont doesnt didnt isnt arent wasnt werent cant wont
    shouldnt couldnt wouldnt hasnt havent at up out off use used using otherwise therefore however whether even though although
    always never itself themselves nothing something anything everything
    """
)
"""English words of grammar."""

TELLING_WORDS = FUNCTION_WORDS - word_set(
    "is of we over had by to at for under have will be own most all up out off once here use some just"
)
"""Words of grammar by which English is told: those that its neighbours write as well (Dutch `of`, Danish `at`) are taken out."""

STOP_WORDS = FUNCTION_WORDS | word_set(
    """
    a an as in on or so do am was i me my mine he him his she her hers they one ones no yes like get gets got go goes going gone
    make makes made making let lets need needs needed want wants take takes took taken give gives given gave see seen saw say says
    said thing things way ways case cases eg ie etc vs via per thus hence much many lot lots really actually simply basically
    currently still yet already now ever am im ive youre theyre thats theres whats lets id ill youll theyll weve theyve shall
    ought im due s t d ll ve re m
    """
)
"""Words that carry no content of their own."""

ACTION_VERBS = word_set(
    """
    abort accept account acquire add adjust align allow allocate analyse analyze annotate append apply assert assign assume avoid
    await batch bind bound break build bump cache calculate call cancel capture cast catch change check choose clamp clean clear
    clone close coerce collect combine commit compare compile compute configure confirm connect consider construct consult
    convert copy correct count cover create debug declare decode decouple decrement default defer define delete derive design
    detect determine diff disable discard distinguish divide document drop dump emit enable encode enforce ensure enumerate escape
    establish evaluate examine exclude execute exercise expand expect explain explore expose extend extract fail fetch filter find
    fix flag flatten flush fold follow force format freeze gate generate guard handle hash honour honor identify ignore implement
    import include increase increment index infer initialise initialize inject insert inspect install instantiate introduce
    invalidate invert invoke isolate iterate join keep launch limit list load lock log loop lower map mark match measure memoise
    memoize merge migrate minimise minimize mock modify monitor move name negate normalise normalize notify omit open order
    override pad parametrise parametrize parse pass patch perform persist pick pin place plan poll prefer prepare prepend preserve
    prevent print probe process profile propagate protect provide prune publish pull purge push put query queue quote raise read
    rebase rebuild recheck reconsider record recompute redirect reduce refactor refetch refresh register reject release reload
    remember remove rename render reopen reorder replace reproduce request require reread rerun reset resolve restart restore
    restrict rethink retry return reuse reverse revert review revise rewrite rotate round run sanitise sanitize save scan scope
    search seed select send separate serialise serialize set shift show simplify simulate skip slice sort specify split start
    state step stop store stream strip study subtract swap switch sync synchronise synchronize take tell terminate test think
    throttle throw time trace track transform translate traverse treat trigger trim truncate try tune turn undo unify unlock
    unwrap update upgrade use validate verify version view wait walk warn watch wrap write yield
    acknowledge activate aggregate announce archive ask attach authenticate authorise authorize bisect bootstrap broadcast bypass
    checkpoint cite clip collapse compress concatenate confine consume continue coordinate deactivate decide decrypt dedupe
    deduplicate delay delegate deploy deprecate deserialise deserialize detach diagnose dispatch display distribute download
    drain duplicate edit eliminate embed encapsulate encrypt enqueue erase evict exit expire export factor forbid forward gather
    give grant hide hold inherit inline interpolate interpret intersect introspect lease leave let look lookup maintain make
    materialise materialize nest obtain opt paginate pause permit pipe postpone preload prohibit promote prove provision
    quarantine reach reapply reassign rebind recalculate recommit recompile reconcile reconnect recover recreate recycle reindex
    reinitialise reinitialize reinstall relax rely relocate remap renew renumber repair repeat rephrase reprocess rescale reserve
    resend resize respect resume retain retest revoke rewind roll seal serve shorten shrink sign silence stick strengthen
    structure stub submit subscribe substitute suppress suspend tag teach tie tighten touch transfer transpose unescape unpack
    unregister unset unsubscribe unwind weigh widen wire withdraw
    """
)
"""Base forms of verbs that say what to do."""
