//! The dashboard: the files that `dashboard/` is built into, as part of the program.
//!
//! Each file is there as it is, and compressed by Brotli and gzip where that makes it smaller. `index.html` is the page;
//! the service writes a nonce and its base path into it for every answer. A program that was built without the dashboard
//! has no files.

mod files {
    include!(concat!(env!("OUT_DIR"), "/files.rs"));
}

/// What stands in the page where the nonce belongs.
const NONCE: &str = "__NONCE__";
/// What stands in the page where the path of the service belongs.
const BASE: &str = "__BASE__";

/// A file of the dashboard.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// The file as it is.
    pub plain: &'static [u8],
    /// The same compressed by Brotli (RFC 7932).
    pub brotli: Option<&'static [u8]>,
    /// The same compressed by gzip (RFC 1952).
    pub gzip: Option<&'static [u8]>,
    /// Its media type.
    pub content_type: &'static str,
    /// Whether its name changes with its content, so that it can be kept for good.
    pub is_immutable: bool,
}

/// A file by its path below `/app/`, such as `assets/index-Ab12.js`. The page itself is not one: see [`page`].
pub fn file(path: &str) -> Option<File> {
    if path == "index.html" || path.ends_with(".br") || path.ends_with(".gz") {
        return None;
    }
    Some(File {
        plain: bytes(path)?,
        brotli: bytes(&format!("{path}.br")),
        gzip: bytes(&format!("{path}.gz")),
        content_type: content_type(path),
        is_immutable: path.starts_with("assets/"),
    })
}

/// The page, for a service that is published under the path `base` (empty, or such as `/mail`). Its scripts and styles
/// carry `nonce`. None if the program was built without the dashboard.
pub fn page(base: &str, nonce: &str) -> Option<String> {
    let page = std::str::from_utf8(bytes("index.html")?).ok()?;
    Some(filled(page, base, nonce))
}

/// The Content-Security-Policy of the page (CSP level 3): scripts by nonce and what they load, styles of ours and by
/// nonce, and nothing of anybody else.
pub fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'self' 'nonce-{nonce}'; \
         img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'"
    )
}

fn filled(page: &str, base: &str, nonce: &str) -> String {
    // attributes are in quotation marks, and neither a path of the base URL nor a nonce has one
    page.replace(NONCE, nonce).replace(BASE, base).replace("\"./", &format!("\"{base}/app/"))
}

fn bytes(path: &str) -> Option<&'static [u8]> {
    let at = files::FILES.binary_search_by_key(&path, |(name, _)| name).ok()?;
    files::FILES.get(at).map(|(_, bytes)| *bytes)
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        "json" => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_gets_its_nonce_and_its_path() {
        let page = "<meta content=\"__BASE__\"><script src=\"./theme.js\" nonce=\"__NONCE__\"></script>";
        let filled = filled(page, "/mail", "abc");
        assert_eq!(
            filled,
            "<meta content=\"/mail\"><script src=\"/mail/app/theme.js\" nonce=\"abc\"></script>"
        );
    }

    #[test]
    fn every_file_is_found_and_the_page_is_none() {
        for (name, bytes) in files::FILES {
            let name = name.to_owned();
            match file(name) {
                Some(found) => {
                    assert_eq!(found.plain, *bytes, "{name}");
                    assert_ne!(found.content_type, "application/octet-stream", "{name}");
                }
                None => {
                    assert!(name == "index.html" || name.ends_with(".br") || name.ends_with(".gz"), "{name}");
                }
            }
        }
        for name in ["", "index.html", "assets", "assets/", "assets/none.js", "../Cargo.toml"] {
            assert!(file(name).is_none(), "{name}");
        }
        assert_eq!(page("", "n").is_some(), !files::FILES.is_empty());
    }

    #[test]
    fn a_built_dashboard_is_compressed_and_has_nothing_inline() {
        let Some(page) = page("", "n0nce") else { return };
        assert!(!page.contains("__"), "{page}");
        for script in page.split("<script").skip(1) {
            assert!(script.contains("src=\"/app/") && script.contains("nonce=\"n0nce\""), "{script}");
            assert!(script[script.find('>').unwrap()..].starts_with("></script>"), "{script}");
        }
        assert!(!page.contains("<style") && !page.contains(" style="), "{page}");
        let scripts =
            files::FILES.iter().filter(|(name, _)| name.starts_with("assets/") && name.ends_with(".js"));
        for (name, plain) in scripts {
            let found = file(name).unwrap();
            assert!(found.is_immutable, "{name}");
            for packed in [found.brotli.unwrap(), found.gzip.unwrap()] {
                assert!(packed.len() < plain.len() + 64, "{name}");
            }
        }
    }
}
