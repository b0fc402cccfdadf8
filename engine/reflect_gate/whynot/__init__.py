"""Why a request was not decided otherwise, and the smallest change that would have: of facts, and apart from that of policy."""
