//! Outputters: values to the text that Salt's tools print.
