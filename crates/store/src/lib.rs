//! What a master keeps on disk: the job cache and the minion data cache.
