//! Lists that others publish and that a command of the operator fetches.

use super::{ConfiguredUrl, HttpClient, Request};

impl HttpClient {
    /// The text of a published list. With `mirror`, it is fetched from there, at its host and path. The error says in words
    /// why there is none.
    pub(crate) async fn fetch_list(&self, url: &str, mirror: Option<&str>) -> Result<String, String> {
        let url = match (mirror, url.split_once("://")) {
            (Some(mirror), Some((_, place))) => format!("{}/{place}", mirror.trim_end_matches('/')),
            _ => url.to_owned(),
        };
        let url = ConfiguredUrl::parse(&url).map_err(|refusal| refusal.to_string())?;
        let request = Request::get(url).following_redirects().may_repeat();
        let answer = self.send(request).await.map_err(|error| error.to_string())?;
        if !answer.status.is_success() {
            return Err(format!("the answer is {}", answer.status));
        }
        let text = std::str::from_utf8(&answer.body).map_err(|_| "the list is no UTF-8".to_owned())?;
        Ok(text.to_owned())
    }
}
