//! RSA key pairs and the four things done with them: sign, verify, encrypt a
//! short secret, and the ANSI X9.31 "private encryption" of tokens.

use std::fmt;

use openssl::bn::BigNumRef;
use openssl::encrypt::{Decrypter, Encrypter};
use openssl::error::ErrorStack;
use openssl::hash::hash;
use openssl::pkey::{PKey, Private, Public};
use openssl::rsa::{Padding, Rsa};
use openssl::symm::Cipher;
use zeroize::Zeroize;

use crate::algorithm::{EncAlgo, SigAlgo};
use crate::error::KeyError;
use crate::hash::{HashType, hash_hex};
use crate::limits::{EXPONENT_BITS_MAX, KEY_BITS_MAX, KEY_BITS_MIN, PEM_BYTES_MAX};
use crate::pem::clean_key;
use crate::random::{constant_time_eq, must};
use crate::secret::Secret;

/// The text whose X9.31 form is the token (`tok`) of every request.
const REQUEST_TOKEN_TEXT: &[u8] = b"salt";

/// `RSA_X931_PADDING`, for which the binding has no name.
const X931: i32 = 5;

/// A private key. Clones share the key; all of them may be used at once.
#[derive(Clone)]
pub struct PrivateKey {
    rsa: Rsa<Private>,
    pkey: PKey<Private>,
}

impl PrivateKey {
    /// Makes a new pair with public exponent 65537. This takes a noticeable
    /// fraction of a second.
    ///
    /// # Errors
    /// When `bits` is out of bounds or the library cannot do it.
    pub fn generate(bits: u32) -> Result<Self, KeyError> {
        check_bits(bits)?;
        let rsa = Rsa::generate(bits).map_err(|error| KeyError::Generate(error.into()))?;
        let pkey = PKey::from_rsa(rsa.clone()).map_err(|error| KeyError::Generate(error.into()))?;
        Ok(Self { rsa, pkey })
    }

    /// Reads a PEM text: PKCS#1 or PKCS#8, plain or encrypted in either way.
    ///
    /// # Errors
    /// When it is no RSA private key of a usable size, or the passphrase is
    /// missing or wrong.
    pub fn from_pem(pem: &[u8], passphrase: Option<&Secret<String>>) -> Result<Self, KeyError> {
        if pem.len() > PEM_BYTES_MAX {
            return Err(KeyError::TooLong { bytes: pem.len() });
        }
        // Without a callback of our own the library would ask on the terminal.
        let mut asked = false;
        let pkey = PKey::private_key_from_pem_callback(pem, |buffer| {
            asked = true;
            let given = passphrase.map_or(&b""[..], |secret| secret.expose().as_bytes());
            let length = given.len().min(buffer.len());
            buffer[..length].copy_from_slice(&given[..length]);
            Ok(length)
        });
        let pkey = match pkey {
            Ok(pkey) => pkey,
            Err(_) if asked && passphrase.is_none() => return Err(KeyError::PassphraseMissing),
            Err(error) if asked => return Err(KeyError::PassphraseWrong(error.into())),
            Err(error) => return Err(KeyError::ReadPrivate(error.into())),
        };
        let rsa = pkey.rsa().map_err(|_| KeyError::NotRsa)?;
        check_bits(pkey.bits())?;
        Ok(Self { rsa, pkey })
    }

    /// The key as PKCS#1 PEM text, as Salt stores it.
    ///
    /// # Errors
    /// When the library cannot write it.
    pub fn to_pem(&self) -> Result<Secret<String>, KeyError> {
        secret_text(self.rsa.private_key_to_pem())
    }

    /// The key as PKCS#1 PEM text encrypted with AES-256-CBC, as Salt stores a
    /// key that has a passphrase. An empty passphrase encrypts nothing.
    ///
    /// # Errors
    /// When the library cannot write it.
    pub fn to_pem_encrypted(
        &self,
        passphrase: &Secret<String>,
    ) -> Result<Secret<String>, KeyError> {
        if passphrase.expose().is_empty() {
            return self.to_pem();
        }
        secret_text(
            self.rsa.private_key_to_pem_passphrase(
                Cipher::aes_256_cbc(),
                passphrase.expose().as_bytes(),
            ),
        )
    }

    /// The public half.
    ///
    /// # Errors
    /// When the library cannot take it out.
    pub fn public(&self) -> Result<PublicKey, KeyError> {
        let pem = self
            .rsa
            .public_key_to_pem()
            .map_err(|error| KeyError::Encode(error.into()))?;
        PublicKey::from_pem(&String::from_utf8_lossy(&pem))
    }

    /// Bits of the modulus.
    pub fn bits(&self) -> u32 {
        self.pkey.bits()
    }

    /// Signs `message`.
    ///
    /// # Errors
    /// When the library cannot do it.
    pub fn sign(&self, algorithm: SigAlgo, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        // Padded by hand and signed raw: some distributions forbid the library
        // to make signatures over SHA-1, which every Salt peer expects.
        self.private_encrypt(&digest_info(algorithm, message), Padding::PKCS1)
    }

    /// Decrypts what was encrypted with the public half.
    ///
    /// # Errors
    /// When the message is damaged or made for another key or algorithm.
    pub fn decrypt(&self, algorithm: EncAlgo, sealed: &[u8]) -> Result<Secret<Vec<u8>>, KeyError> {
        let attempt = || -> Result<Vec<u8>, ErrorStack> {
            let mut decrypter = Decrypter::new(&self.pkey)?;
            decrypter.set_rsa_padding(Padding::PKCS1_OAEP)?;
            decrypter.set_rsa_oaep_md(algorithm.digest())?;
            decrypter.set_rsa_mgf1_md(algorithm.digest())?;
            let mut plain = vec![0; decrypter.decrypt_len(sealed)?];
            let length = decrypter.decrypt(sealed, &mut plain)?;
            plain.truncate(length);
            Ok(plain)
        };
        attempt()
            .map(Secret::new)
            .map_err(|error| KeyError::Decrypt(error.into()))
    }

    /// The X9.31 form of a short message: a signature that carries it.
    ///
    /// # Errors
    /// When the message is longer than the key minus two bytes.
    pub fn private_encrypt_x931(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.private_encrypt(message, Padding::from_raw(X931))
    }

    /// The token (`tok`) that a minion adds to each request. It never changes,
    /// so one computation per key is enough.
    ///
    /// # Errors
    /// When the library cannot do it.
    pub fn request_token(&self) -> Result<Vec<u8>, KeyError> {
        self.private_encrypt_x931(REQUEST_TOKEN_TEXT)
    }

    /// A master's proof that it handed out this publish key (`sig` inside the
    /// sign-in reply).
    ///
    /// # Errors
    /// When the library cannot do it.
    pub fn sign_publish_key(&self, key_text: &str) -> Result<Vec<u8>, KeyError> {
        self.private_encrypt_x931(hash_hex(HashType::Sha256, key_text.as_bytes()).as_bytes())
    }

    fn private_encrypt(&self, block: &[u8], padding: Padding) -> Result<Vec<u8>, KeyError> {
        let mut out = vec![0; self.pkey.size()];
        let length = self
            .rsa
            .private_encrypt(block, &mut out, padding)
            .map_err(|error| KeyError::Sign(error.into()))?;
        out.truncate(length);
        Ok(out)
    }
}

/// Shows the size only.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({} bits)", self.bits())
    }
}

/// A public key. Clones share the key; all of them may be used at once.
///
/// A master parses one per sign-in, so only the library's own form of an RSA
/// key is made of it, which costs a tenth of the general form.
#[derive(Clone)]
pub struct PublicKey {
    rsa: Rsa<Public>,
}

impl PublicKey {
    /// Reads a PEM text: SubjectPublicKeyInfo under either label, or PKCS#1.
    ///
    /// # Errors
    /// When it is no RSA public key of a usable size.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        if pem.len() > PEM_BYTES_MAX {
            return Err(KeyError::TooLong { bytes: pem.len() });
        }
        let rsa = match Rsa::public_key_from_pem(pem.as_bytes()) {
            Ok(rsa) => rsa,
            Err(error) => match from_rsa_label(pem) {
                Some(rsa) => rsa,
                None if PKey::public_key_from_pem(pem.as_bytes()).is_ok() => {
                    return Err(KeyError::NotRsa);
                }
                None => return Err(KeyError::ReadPublic(error.into())),
            },
        };
        let this = Self { rsa };
        check_bits(this.bits())?;
        // With an exponent of one nothing is encrypted and everything signed,
        // an even number is no RSA key, and a large one only costs.
        let (n, e) = (this.rsa.n(), this.rsa.e());
        let is_odd = |number: &BigNumRef| number.is_bit_set(0);
        if !is_odd(n) || !is_odd(e) || !(2..=EXPONENT_BITS_MAX).contains(&e.num_bits()) {
            return Err(KeyError::Unsafe);
        }
        Ok(this)
    }

    /// The key as SubjectPublicKeyInfo PEM text with a line end at the end.
    ///
    /// # Errors
    /// When the library cannot write it.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.rsa
            .public_key_to_pem()
            .map(|pem| String::from_utf8_lossy(&pem).into_owned())
            .map_err(|error| KeyError::Encode(error.into()))
    }

    /// The key as it is sent and compared.
    ///
    /// # Errors
    /// When the library cannot write it.
    pub fn clean_pem(&self) -> Result<String, KeyError> {
        self.to_pem().map(|pem| clean_key(&pem))
    }

    /// Bits of the modulus.
    pub fn bits(&self) -> u32 {
        self.rsa.n().num_bits().unsigned_abs()
    }

    /// Whether `signature` is the private half's over `message`.
    pub fn verify(&self, algorithm: SigAlgo, message: &[u8], signature: &[u8]) -> bool {
        self.public_decrypt(signature, Padding::PKCS1)
            .is_some_and(|found| constant_time_eq(&found, &digest_info(algorithm, message)))
    }

    /// Encrypts a short secret for the owner of the private half.
    ///
    /// # Errors
    /// When the message is too long for the key.
    pub fn encrypt(&self, algorithm: EncAlgo, plain: &[u8]) -> Result<Vec<u8>, KeyError> {
        let attempt = || -> Result<Vec<u8>, ErrorStack> {
            if algorithm == EncAlgo::OaepSha1 {
                let mut sealed = vec![0; self.size()];
                let length = self
                    .rsa
                    .public_encrypt(plain, &mut sealed, Padding::PKCS1_OAEP)?;
                sealed.truncate(length);
                return Ok(sealed);
            }
            let pkey = PKey::from_rsa(self.rsa.clone())?;
            let mut encrypter = Encrypter::new(&pkey)?;
            encrypter.set_rsa_padding(Padding::PKCS1_OAEP)?;
            encrypter.set_rsa_oaep_md(algorithm.digest())?;
            encrypter.set_rsa_mgf1_md(algorithm.digest())?;
            let mut sealed = vec![0; encrypter.encrypt_len(plain)?];
            let length = encrypter.encrypt(plain, &mut sealed)?;
            sealed.truncate(length);
            Ok(sealed)
        };
        attempt().map_err(|error| KeyError::Encrypt(error.into()))
    }

    /// The message inside an X9.31 signature of the private half; none if it
    /// is not one.
    pub fn public_decrypt_x931(&self, signature: &[u8]) -> Option<Vec<u8>> {
        self.public_decrypt(signature, Padding::from_raw(X931))
    }

    /// Whether `token` is the token (`tok`) of this key's owner.
    pub fn accepts_request_token(&self, token: &[u8]) -> bool {
        self.public_decrypt_x931(token)
            .is_some_and(|text| constant_time_eq(&text, REQUEST_TOKEN_TEXT))
    }

    /// Whether `signature` is this master's proof over the publish key.
    pub fn verify_publish_key(&self, key_text: &str, signature: &[u8]) -> bool {
        let expected = hash_hex(HashType::Sha256, key_text.as_bytes());
        self.public_decrypt_x931(signature)
            .is_some_and(|found| constant_time_eq(&found, expected.as_bytes()))
    }

    fn public_decrypt(&self, signature: &[u8], padding: Padding) -> Option<Vec<u8>> {
        let size = self.size();
        if signature.len() != size {
            return None;
        }
        let mut out = vec![0; size];
        let length = self.rsa.public_decrypt(signature, &mut out, padding).ok()?;
        out.truncate(length);
        Some(out)
    }

    fn size(&self) -> usize {
        self.rsa.size() as usize
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.rsa.n() == other.rsa.n() && self.rsa.e() == other.rsa.e()
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({} bits)", self.bits())
    }
}

/// Reads `BEGIN RSA PUBLIC KEY`, whose content is PKCS#1 by the label and
/// SubjectPublicKeyInfo in some files that Salt reads.
fn from_rsa_label(pem: &str) -> Option<Rsa<Public>> {
    if !pem.contains("RSA PUBLIC KEY") {
        return None;
    }
    Rsa::public_key_from_pem_pkcs1(pem.as_bytes())
        .or_else(|_| Rsa::public_key_from_pem(pem.replace("RSA ", "").as_bytes()))
        .ok()
}

fn digest_info(algorithm: SigAlgo, message: &[u8]) -> Vec<u8> {
    let digest = must(hash(algorithm.digest(), message));
    [algorithm.digest_info_head(), digest.as_ref()].concat()
}

fn check_bits(bits: u32) -> Result<(), KeyError> {
    if (KEY_BITS_MIN..=KEY_BITS_MAX).contains(&bits) {
        Ok(())
    } else {
        Err(KeyError::Size { bits })
    }
}

fn secret_text(pem: Result<Vec<u8>, ErrorStack>) -> Result<Secret<String>, KeyError> {
    let pem = pem.map_err(|error| KeyError::Encode(error.into()))?;
    let text = String::from_utf8(pem).unwrap_or_else(|error| {
        let mut bytes = error.into_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        bytes.zeroize();
        text
    });
    Ok(Secret::new(text))
}
