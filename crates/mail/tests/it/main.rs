//! Tests through the public door of the crate, in one program so that it is linked once.

#[cfg(test)]
mod authentication;
#[cfg(test)]
mod dane;
#[cfg(test)]
mod dkim;
#[cfg(test)]
mod dns;
#[cfg(test)]
mod message;
#[cfg(test)]
mod route;
#[cfg(test)]
mod smtp;
#[cfg(test)]
mod smtp_chunking;
#[cfg(test)]
mod smtp_open;
#[cfg(test)]
mod smtp_server;
#[cfg(test)]
mod smtp_tls;
#[cfg(test)]
mod verification;
