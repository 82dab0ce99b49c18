//! Refusals about verifying addresses in the background.

use mailwright_testkit::json;
use mailwright_tests::UNKNOWN_ID;

use super::contacts::form;
use super::refusal::Refusal;
use super::world::World;

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let segment = |id: &str| world.key("post /v1/verify/segment", &[]).json(&json!({"segmentId": id}));
    let file = |body: String| {
        world.key("post /v1/verify/file", &[]).body(body, "multipart/form-data; boundary=limit")
    };
    let rows = "email\nnew@example.com\n";
    vec![
        segment(UNKNOWN_ID).refused("there is no such segment", 404, "RESOURCE_NOT_FOUND"),
        segment("mine").refused("no id", 422, "VALIDATION_ERROR"),
        file(String::from("--limit--\r\n")).refused("without a file", 400, "BAD_REQUEST"),
        file(form("c.txt", "text/plain", rows)).refused("no CSV", 400, "BAD_REQUEST"),
        file(form("c.csv", "text/csv", &"x".repeat(5 * 1024 * 1024 + 1))).refused(
            "too large",
            413,
            "PAYLOAD_TOO_LARGE",
        ),
    ]
}
