//! Whatever the text: a render ends with data or an error, and never panics.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod texts;

use halite_render::{Renderer, SlsRequest};
use proptest::prelude::*;
use texts::context;

/// Pieces that texts are made of.
const PIECES: &[&str] = &[
    "#!jinja|yaml\n",
    "#!yaml\n",
    "#!json\n",
    "#!jinja|json\n",
    "#!mako\n",
    "#!gpg|yaml\n",
    "#jinja2: {\"trim_blocks\": true}\n",
    "#jinja2: {",
    "{{ ",
    " }}",
    "{% ",
    " %}",
    "{# ",
    " #}",
    "if x",
    "endif",
    "for i in [1, 2]",
    "endfor",
    "set a = 1",
    "do ",
    "macro m(x)",
    "endmacro",
    "import 'x' as y",
    "raw",
    "endraw",
    "load_yaml as d",
    "endload",
    "grains.os",
    "pillar['a']",
    "salt['x.y']()",
    "opts",
    "'text'",
    "\"",
    "'",
    "\n",
    "\n  ",
    "\t",
    "a: ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ": ",
    ", ",
    "&a ",
    "*a",
    "<<: ",
    "!!binary ",
    "|\n",
    ">\n",
    "---\n",
    "...\n",
    "? ",
    "# ",
    "0644",
    "1e3",
    "~",
    "yes",
    "\u{7}",
    "ß",
    "\u{2028}",
    "\r\n",
    " | ",
    "json_query('a[].b')",
    "json_query('",
    "strftime('%Y%f%Q')",
    "random_sample(3, seed='x')",
    "xml",
    "mysql_to_dict('a')",
    "filter_by_networks(['10.0.0.0/8'])",
    "yaml(False)",
    "tojson",
    "md5",
    "which",
    "is_text_file",
    "random_str",
    "-----BEGIN PGP MESSAGE-----",
    "-----END PGP MESSAGE-----",
    "\\n",
    "\\",
    "1",
    "+",
    "*",
    "**",
    "%",
    "~",
    "~ 9999",
    "range(99)",
    "'x' * 999",
];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn a_render_ends(text in text()) {
        texts::sls(text.as_bytes());
        texts::template(text.as_bytes());
        texts::yaml(text.as_bytes());
    }

    #[test]
    fn bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        texts::sls(&bytes);
        texts::template(&bytes);
        texts::yaml(&bytes);
    }

    #[test]
    fn queries_end(query in "[a-c0-9.*@&|!<>=`'\"(){}, :?\\[\\]-]{0,40}") {
        texts::query(query.as_bytes());
    }

    #[test]
    fn json_ends(text in "[\\[\\]{}:, \"a0-9.eE+\\\\u-]{0,20}") {
        let ctx = context();
        let sls = format!("#!json\n{text}x");
        let _ = Renderer::new(&ctx).sls(&SlsRequest::new(sls.as_bytes()));
    }
}
