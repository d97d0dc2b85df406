//! Checks the text of a key that signs in.

use crate::limits::SIGN_IN_KEY_BYTES_MAX;

/// Whether the text is a key and nothing else, in the form that minions send. It is
/// stored unchanged, shown by `salt-key -p` and sent to other masters.
pub(super) fn is_plain_pem(text: &str) -> bool {
    let is_pem = |c: char| c.is_ascii_graphic() || matches!(c, ' ' | '\t' | '\r' | '\n');
    let text = text.trim();
    text.len() <= SIGN_IN_KEY_BYTES_MAX
        && text.starts_with("-----BEGIN ")
        && text.ends_with("-----")
        && text.matches("-----BEGIN ").count() == 1
        && text.matches("-----END ").count() == 1
        && text.chars().all(is_pem)
}

#[cfg(test)]
mod tests {
    use halite_crypto::{PrivateKey, PublicKey};

    use super::*;

    #[test]
    fn a_key_with_text_around_it_is_none_though_it_could_be_read() {
        let key = PrivateKey::generate(1024).unwrap().public().unwrap();
        let pem = key.to_pem().unwrap();
        for plain in [
            pem.clone(),
            pem.trim().to_owned(),
            pem.replace('\n', "\r\n"),
        ] {
            assert!(is_plain_pem(&plain), "{plain:?}");
        }
        let long = "x".repeat(60 * 1024);
        let before = [format!("x\n{pem}"), format!("{long}\n{pem}")];
        let behind = [format!("{pem}\nx"), format!("{pem}{pem}")];
        for padded in before.iter().chain(&behind) {
            assert!(PublicKey::from_pem(padded).is_ok());
            assert!(!is_plain_pem(padded));
        }
        let inside = pem.replacen("-----\n", "-----\n\u{1b}", 1);
        assert!(!is_plain_pem(&inside) && !is_plain_pem(""));
        let wide = pem.replacen('\n', &" \n".repeat(SIGN_IN_KEY_BYTES_MAX), 1);
        assert!(!is_plain_pem(&wide));
    }
}
