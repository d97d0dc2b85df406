//! Texts to data: the pipes of renderers, and the templates of managed files.
