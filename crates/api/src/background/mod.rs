//! Background jobs. Each kind of job has its endpoints with its resource.

pub(crate) mod job;
