//! Refusals about uploaded pictures.

use mailwright_tests::picture::{self, Form};

use super::refusal::Refusal;
use super::world::World;

/// The project has no room for any picture: `world.rs` says so.
pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let post = |form: Form| world.key("post /uploads/image", &[]).body(form.body, &form.kind);
    let (picture, unknown) = (picture::png(2, 2, 1), format!("{}.png", "0".repeat(64)));
    let of_project = [world.project.as_str(), &unknown];
    vec![
        post(picture::form("other", "a.png", &picture)).refused("no picture", 400, "BAD_REQUEST"),
        post(picture::form("image", "a.svg", b"<svg><script/></svg>")).refused("SVG", 400, "BAD_REQUEST"),
        post(picture::form("image", "a.png", &picture[..40])).refused("a part of it", 400, "BAD_REQUEST"),
        post(picture::form("image", "a.png", &picture)).refused("no room", 409, "CONFLICT"),
        post(picture::form("image", "a.png", &vec![0; 10 * 1024 * 1024 + 1])).refused(
            "more than 10 MB",
            413,
            "PAYLOAD_TOO_LARGE",
        ),
        world.key("delete /uploads/{projectId}/{file}", &of_project).refused(
            "no such picture",
            404,
            "RESOURCE_NOT_FOUND",
        ),
    ]
}
