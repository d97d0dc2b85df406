//! The mount point of a path, and the programs that mount by FUSE.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult};
use halite_proto::Map;

/// Whether something is mounted at a place.
fn is_mount(path: &Path) -> bool {
    let about = |path: &Path| {
        path.symlink_metadata()
            .map(|about| (about.dev(), about.ino()))
    };
    match (about(path), about(&path.join(".."))) {
        (Ok((own, inode)), Ok((other, above))) => own != other || inode == above,
        _ => false,
    }
}

fn mount_of(path: &str) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let mut path = path.canonicalize().unwrap_or(path);
    while path != Path::new("/") && !is_mount(&path) {
        if !path.pop() {
            break;
        }
    }
    path
}

pub(super) fn get_mount_from_path(call: &Call<'_>) -> CallResult {
    Ok(mount_of(&call.text("path")).display().to_string().into())
}

pub(super) fn get_device_from_path(call: &Call<'_>) -> CallResult {
    let mount = mount_of(&call.text("path")).display().to_string();
    let active = call.salt("mount.active", &[], Map::new())?;
    let device = active.get(&mount).and_then(|about| about.get("device"));
    Ok(device.cloned().unwrap_or_default())
}

pub(super) fn is_fuse_exec(call: &Call<'_>) -> CallResult {
    let host = call.host();
    let Some(program) = host.which(&call.text("cmd")) else {
        return Ok(false.into());
    };
    if !host.has("ldd") {
        return Err(CallError::NotFound("ldd".to_owned()));
    }
    let ran = Program::new(call, &["ldd"]).arg(program.display().to_string());
    Ok(ran.run()?.stdout.contains("libfuse").into())
}
