//! Who is meant: the target language of Salt.
