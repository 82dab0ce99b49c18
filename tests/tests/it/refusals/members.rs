//! Refusals about members and invitations.

use mailwright_testkit::json;
use mailwright_tests::browser::Browser;

use super::refusal::{Asked, Refusal};
use super::world::World;

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let parts = [invitations(world), members(world)];
    parts.into_iter().flatten().collect()
}

fn invitations(world: &World) -> Vec<Refusal> {
    let project = world.project.as_str();
    let invite = |asked: Asked, email: &str, role: &str| asked.json(&json!({"email": email, "role": role}));
    let by = |browser: &Browser| world.by(browser, "post /projects/{id}/members", &[project]);
    let by_key = || world.key("post /projects/{id}/members", &[project]);
    let confirm = "post /projects/{id}/invitations/{invitationId}/confirm";
    let withdraw = "delete /projects/{id}/invitations/{invitationId}";
    let (of_person, of_key) = (world.id("invitation of a person"), world.id("invitation of a key"));
    vec![
        invite(by(&world.member), "new@example.com", "MEMBER").refused("a member", 403, "FORBIDDEN"),
        invite(by_key(), "new@example.com", "ADMIN").refused("a key, for an administrator", 403, "FORBIDDEN"),
        invite(by(&world.owner), "admin@example.com", "MEMBER").refused("a member already", 409, "CONFLICT"),
        invite(by_key(), "member@example.com", "MEMBER").refused(
            "a member already, by a key",
            409,
            "CONFLICT",
        ),
        invite(by_key(), "stranger@example.com", "MEMBER").refused(
            "a person has invited it",
            409,
            "CONFLICT",
        ),
        invite(by(&world.owner), "new@example.com", "OWNER").refused("an owner", 422, "VALIDATION_ERROR"),
        world.by(&world.member, withdraw, &[project, of_person]).refused("a member", 403, "FORBIDDEN"),
        world.key(withdraw, &[project, of_person]).refused("a key, of an administrator", 403, "FORBIDDEN"),
        world.by(&world.admin, withdraw, &[world.id("side"), of_person]).refused(
            "of another project",
            404,
            "RESOURCE_NOT_FOUND",
        ),
        world.by(&world.member, confirm, &[project, of_key]).refused("a member", 403, "FORBIDDEN"),
        world.by(&world.owner, confirm, &[project, of_person]).refused("a person made it", 409, "CONFLICT"),
        world.by(&world.admin, confirm, &[world.id("side"), of_key]).refused(
            "of another project",
            404,
            "RESOURCE_NOT_FOUND",
        ),
    ]
}

fn members(world: &World) -> Vec<Refusal> {
    let project = world.project.as_str();
    let (owner, admin, member) = (&world.owner, &world.admin, &world.member);
    let give = |by: &Browser, to: &Browser, role: &str| {
        let asked = world.by(by, "patch /projects/{id}/members/{userId}", &[project, &to.id]);
        asked.json(&json!({"role": role}))
    };
    let remove = |by: &Browser, who: &Browser| {
        world.by(by, "delete /projects/{id}/members/{userId}", &[project, &who.id])
    };
    vec![
        give(owner, owner, "ADMIN").refused("the last owner steps down", 403, "FORBIDDEN"),
        give(owner, owner, "MEMBER").refused("the last owner becomes a member", 403, "FORBIDDEN"),
        give(member, member, "ADMIN").refused("a member by himself", 403, "FORBIDDEN"),
        give(admin, member, "OWNER").refused("an administrator gives the project away", 403, "FORBIDDEN"),
        give(admin, admin, "OWNER").refused("nobody offered it", 403, "FORBIDDEN"),
        give(owner, &world.free, "ADMIN").refused("no member", 404, "RESOURCE_NOT_FOUND"),
        give(owner, member, "KING").refused("no role", 422, "VALIDATION_ERROR"),
        world
            .key("patch /projects/{id}/members/{userId}", &[project, &member.id])
            .json(&json!({"role": "ADMIN"}))
            .refused("a key makes an administrator", 403, "FORBIDDEN"),
        remove(owner, owner).refused("the last owner leaves", 403, "FORBIDDEN"),
        remove(admin, owner).refused("an administrator removes the owner", 403, "FORBIDDEN"),
        remove(member, admin).refused("a member removes an administrator", 403, "FORBIDDEN"),
        remove(owner, &world.free).refused("no member", 404, "RESOURCE_NOT_FOUND"),
        world.key("delete /projects/{id}/members/{userId}", &[project, &admin.id]).refused(
            "a key removes an administrator",
            403,
            "FORBIDDEN",
        ),
    ]
}
