//! Requests that a browser makes before anybody asks for the page.

/// Whether a request is a prefetch, by its purpose headers: `Sec-Purpose: prefetch` (Fetch standard), `Purpose:
/// prefetch`, `X-Purpose: preview` and `X-Moz: prefetch`. Names and values in any case; other headers are passed over.
///
/// ```
/// use mailwright_core::hit::is_prefetch;
/// assert!(is_prefetch([("sec-purpose", "prefetch;prerender")]));
/// assert!(!is_prefetch([("sec-fetch-mode", "navigate")]));
/// ```
pub fn is_prefetch<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> bool {
    headers.into_iter().any(|(name, value)| {
        PURPOSE.iter().any(|purpose| name.eq_ignore_ascii_case(purpose))
            && value
                .split([';', ',', ' ', '\t'])
                .any(|part| EARLY.iter().any(|early| part.eq_ignore_ascii_case(early)))
    })
}

const PURPOSE: [&str; 4] = ["sec-purpose", "purpose", "x-purpose", "x-moz"];
const EARLY: [&str; 3] = ["prefetch", "prerender", "preview"];
