//! Named queues of texts in sqlite files.
