"""What a case, or a program, is found to be."""

AGREES, DIFFERS, KNOWN, CUSTOM, NO_TYPE, NOTHING, REFUSED = "agrees", "differs", "known", "custom call", "type", "nothing", "refused"
# From bad to good: a case is what the worst of its programs is.
ORDER = (DIFFERS, CUSTOM, NO_TYPE, AGREES, NOTHING)
