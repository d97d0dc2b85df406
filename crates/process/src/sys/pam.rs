//! `libpam`, loaded when a password is checked and not before: most masters never
//! need it, and some machines do not have it.
//!
//! Only a short-lived process calls this (`crate::password`), so the effects of a
//! PAM module on memory, signals or time stay there.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::path::Path;
use std::ptr;

use nix::libc;

const SUCCESS: c_int = 0;
const BUFFER_ERROR: c_int = 5;
const CONVERSATION_ERROR: c_int = 19;
/// Accounts without a password let nobody in, also where a service has `nullok`.
const DISALLOW_NULL_AUTHTOK: c_int = 1;
/// The item that says whom PAM has let in.
const USER: c_int = 2;
const PROMPT_HIDDEN: c_int = 1;
const PROMPT_SHOWN: c_int = 2;
const MESSAGES_MAX: c_int = 32;

#[repr(C)]
struct Message {
    style: c_int,
    text: *const c_char,
}

#[repr(C)]
struct Response {
    text: *mut c_char,
    retcode: c_int,
}

type Talk =
    unsafe extern "C" fn(c_int, *const *const Message, *mut *mut Response, *mut c_void) -> c_int;

#[repr(C)]
struct Conversation {
    talk: Talk,
    data: *mut c_void,
}

type Handle = *mut c_void;
type Start =
    unsafe extern "C" fn(*const c_char, *const c_char, *const Conversation, *mut Handle) -> c_int;
type StartIn = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const Conversation,
    *const c_char,
    *mut Handle,
) -> c_int;
type Step = unsafe extern "C" fn(Handle, c_int) -> c_int;
type GetItem = unsafe extern "C" fn(*const c_void, c_int, *mut *const c_void) -> c_int;

/// What is answered to the questions of PAM.
struct Answers {
    user: CString,
    password: CString,
}

/// Answers: the password where nothing is shown, the name elsewhere.
unsafe extern "C" fn talk(
    count: c_int,
    messages: *const *const Message,
    responses: *mut *mut Response,
    data: *mut c_void,
) -> c_int {
    if !(1..=MESSAGES_MAX).contains(&count) || messages.is_null() || responses.is_null() {
        return CONVERSATION_ERROR;
    }
    let Ok(number) = usize::try_from(count) else {
        return CONVERSATION_ERROR;
    };
    // SAFETY: `data` is the `Answers` that `check` keeps alive until after
    // `pam_end`; PAM hands it back unchanged.
    let answers = unsafe { &*data.cast::<Answers>() };
    // SAFETY: PAM frees this with `free`, so it comes from `calloc`; all zeroes
    // is "no answer" in each place.
    let replies = unsafe { libc::calloc(number, size_of::<Response>()) }.cast::<Response>();
    if replies.is_null() {
        return BUFFER_ERROR;
    }
    for at in 0..number {
        // SAFETY: Linux-PAM gives an array of `count` pointers to messages that
        // live during this call.
        let style = unsafe { (**messages.add(at)).style };
        let text = match style {
            PROMPT_HIDDEN => Some(&answers.password),
            PROMPT_SHOWN => Some(&answers.user),
            _ => None,
        };
        if let Some(text) = text {
            // SAFETY: `at` is within the array; `strdup` gives text that PAM
            // frees, or null, which is "no answer".
            unsafe { (*replies.add(at)).text = libc::strdup(text.as_ptr()) };
        }
    }
    // SAFETY: PAM gave the place for the answers, and takes them over.
    unsafe { *responses = replies };
    SUCCESS
}

struct Library(*mut c_void);

impl Library {
    fn open() -> io::Result<Self> {
        for name in [c"libpam.so.0", c"libpam.so"] {
            // SAFETY: the name is a C string. What the library does when it is
            // loaded is trusted as the system's own.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
            if !handle.is_null() {
                return Ok(Self(handle));
            }
        }
        Err(io::Error::other("libpam.so.0 cannot be loaded"))
    }

    fn symbol(&self, name: &CStr) -> io::Result<*mut c_void> {
        // SAFETY: the handle is open for as long as the process lives.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if symbol.is_null() {
            return Err(io::Error::other(format!(
                "libpam has no {}",
                name.to_string_lossy()
            )));
        }
        Ok(symbol)
    }

    fn step(&self, name: &CStr) -> io::Result<Step> {
        let symbol = self.symbol(name)?;
        // SAFETY: the three functions asked for this way have this type in
        // every version of Linux-PAM.
        Ok(unsafe { std::mem::transmute::<*mut c_void, Step>(symbol) })
    }
}

/// Whether PAM takes the password of `user` for `service`, and the account is
/// good. `confdir` holds the services instead of the system's directory.
///
/// # Errors
/// When PAM cannot be used.
pub(crate) fn check(
    service: &str,
    user: &str,
    password: &str,
    confdir: Option<&Path>,
) -> io::Result<bool> {
    // Whatever the rules of the service say: no password proves nobody.
    if password.is_empty() {
        return Ok(false);
    }
    let text = |text: &str| CString::new(text).map_err(io::Error::from);
    let (service, name) = (text(service)?, text(user)?);
    let answers = Box::new(Answers {
        user: name.clone(),
        password: text(password)?,
    });
    let conversation = Conversation {
        talk,
        data: ptr::from_ref::<Answers>(&answers).cast_mut().cast(),
    };
    let library = Library::open()?;
    let authenticate = library.step(c"pam_authenticate")?;
    let account = library.step(c"pam_acct_mgmt")?;
    let end = library.step(c"pam_end")?;
    let item = library.symbol(c"pam_get_item")?;
    // SAFETY: the type of `pam_get_item` in every version of Linux-PAM.
    let item = unsafe { std::mem::transmute::<*mut c_void, GetItem>(item) };
    let mut handle: Handle = ptr::null_mut();
    let started = match confdir {
        None => {
            let start = library.symbol(c"pam_start")?;
            // SAFETY: the type of `pam_start` in every version of Linux-PAM.
            let start = unsafe { std::mem::transmute::<*mut c_void, Start>(start) };
            // SAFETY: all pointers live until after `pam_end`.
            unsafe {
                start(
                    service.as_ptr(),
                    name.as_ptr(),
                    &raw const conversation,
                    &raw mut handle,
                )
            }
        }
        Some(dir) => {
            let dir = text(&dir.to_string_lossy())?;
            let start = library.symbol(c"pam_start_confdir")?;
            // SAFETY: the type of `pam_start_confdir` since it is there.
            let start = unsafe { std::mem::transmute::<*mut c_void, StartIn>(start) };
            // SAFETY: as above; PAM copies the directory's name.
            unsafe {
                start(
                    service.as_ptr(),
                    name.as_ptr(),
                    &raw const conversation,
                    dir.as_ptr(),
                    &raw mut handle,
                )
            }
        }
    };
    if started != SUCCESS || handle.is_null() {
        return Err(io::Error::other(format!("pam_start failed ({started})")));
    }
    // SAFETY: the handle is open, and what it refers to is alive.
    let mut result = unsafe { authenticate(handle, DISALLOW_NULL_AUTHTOK) };
    if result == SUCCESS {
        // A right password of a locked or expired account is not enough.
        // SAFETY: as above.
        result = unsafe { account(handle, DISALLOW_NULL_AUTHTOK) };
    }
    // Modules may put another name in the place of the one that was typed; what
    // is permitted is looked up under that one.
    let is_user = result == SUCCESS && user_of(handle, item).as_deref() == Some(name.as_c_str());
    // SAFETY: the handle is open and not used any more after this.
    unsafe { end(handle, result) };
    drop(answers);
    Ok(is_user)
}

/// Whom PAM has let in.
fn user_of(handle: Handle, item: GetItem) -> Option<CString> {
    let mut user: *const c_void = ptr::null();
    // SAFETY: the handle is open, and the place for the item lives.
    let got = unsafe { item(handle, USER, &raw mut user) };
    if got != SUCCESS || user.is_null() {
        return None;
    }
    // SAFETY: this item is a C string of PAM's, which lives until `pam_end`.
    Some(unsafe { CStr::from_ptr(user.cast()) }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether this machine has a Linux-PAM that reads services from a
    /// directory of the caller's (1.4 and later); reports it if not.
    fn have_pam() -> bool {
        // SAFETY: both names are C strings, and the handle is checked.
        let works = unsafe {
            let library = libc::dlopen(c"libpam.so.0".as_ptr(), libc::RTLD_NOW);
            !library.is_null() && !libc::dlsym(library, c"pam_start_confdir".as_ptr()).is_null()
        };
        if !works {
            halite_test_support::not_run("no libpam.so.0 with pam_start_confdir");
        }
        works
    }

    /// Asks PAM with a service of our own.
    fn ask(rules: &str, user: &str, password: &str) -> bool {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("halite"), rules).unwrap();
        check("halite", user, password, Some(dir.path())).unwrap()
    }

    #[test]
    fn the_rules_decide_about_password_and_account() {
        if !have_pam() {
            return;
        }
        let permit = "auth required pam_permit.so\naccount required pam_permit.so\n";
        assert!(ask(permit, "nobody", "x"));
        assert!(!ask(permit, "nobody", ""));
        let deny = "auth required pam_deny.so\naccount required pam_permit.so\n";
        assert!(!ask(deny, "nobody", "x"));
        let locked = "auth required pam_permit.so\naccount required pam_deny.so\n";
        assert!(!ask(locked, "nobody", "x"));
    }

    #[test]
    fn the_password_is_what_was_given() {
        if !have_pam() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("check");
        let text = "#!/bin/sh\n[ \"$(tr -d '\\0')\" = sesame ] && [ \"$PAM_USER\" = nobody ]\n";
        std::fs::write(&script, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, mode).unwrap();
        let rules = format!(
            "auth required pam_exec.so expose_authtok quiet {}\naccount required pam_permit.so\n",
            script.display()
        );
        assert!(ask(&rules, "nobody", "sesame"));
        assert!(!ask(&rules, "nobody", "wrong"));
        assert!(check("a\0b", "nobody", "x", None).is_err());
    }

    /// A module may let in somebody else than the one who was asked for, as those
    /// do that look names up in a directory: rights are those of the typed name.
    #[test]
    fn a_module_that_changes_the_name_lets_nobody_in() {
        if !have_pam() || !halite_test_support::have_programs(&["cc"]) {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (source, module) = (dir.path().join("rename.c"), dir.path().join("rename.so"));
        let text = "int pam_set_item(void *, int, const void *);\n\
                    int pam_sm_authenticate(void *pam, int flags, int count, const char **args)\n\
                    { return pam_set_item(pam, 2, args[0]); }\n\
                    int pam_sm_setcred(void *pam, int flags, int count, const char **args)\n\
                    { return 0; }\n";
        std::fs::write(&source, text).unwrap();
        let mut compiler = crate::child::command("cc");
        let compiler = compiler.args(["-shared", "-fPIC", "-o"]).arg(&module);
        let done = compiler
            .arg(&source)
            .arg("-l:libpam.so.0")
            .output()
            .unwrap();
        if !done.status.success() {
            halite_test_support::not_run("cc builds no module of PAM");
            return;
        }
        let rules = |name: &str| {
            format!(
                "auth required {} {name}\naccount required pam_permit.so\n",
                module.display()
            )
        };
        assert!(ask(&rules("nobody"), "nobody", "x"));
        assert!(!ask(&rules("root"), "nobody", "x"));
        assert!(!ask(&rules("NOBODY"), "nobody", "x"));
    }
}
