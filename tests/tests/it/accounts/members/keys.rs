//! What a secret key may do about members and invitations.

use mailwright_testkit::{Engine, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{column, text};
use serde_json::json;

use super::team::Team;

both_engines! {
    async fn a_key_manages_members_only(engine: Engine) {
        let team = Team::new(engine).await;
        let app = &team.app;
        let post = |role: &str, email: &str| app.post(&team.path).json(&json!({"email": email, "role": role})).send();
        post("ADMIN", "grace@example.com").await.assert_error(403, "FORBIDDEN");
        post("MEMBER", "grace@example.com").await.assert_status(202);
        app.delete(&team.of(&team.admin)).send().await.assert_error(403, "FORBIDDEN");
        app.patch(&team.of(&team.member)).json(&json!({"role": "ADMIN"})).send().await.assert_error(403, "FORBIDDEN");
        app.delete(&team.of(&team.member)).send().await.assert_status(200);
        let audit = team.owner.audit(app, app.project_id()).await;
        assert_eq!((&audit[0]["action"], &audit[0]["actor"]["type"]), (&json!("member.removed"), &json!("key")));
    }

    async fn what_a_key_invited_ends_with_the_key(engine: Engine) {
        let team = Team::new(engine).await;
        let (app, project) = (&team.app, team.app.project_id());
        let named = team.owner.create_key(app, project, "Robot", &["everything"]).await;
        let invite = async |key: &str, email: &str| {
            let request = app.request("POST", &team.path).bearer(key).json(&json!({"email": email}));
            request.send().await.assert_status(202).json()
        };
        let of_pair = invite(app.secret_key(), "pair@example.com").await;
        let of_named = invite(text(&named["key"]), "named@example.com").await;
        team.invite(&team.owner, json!({"email": "kept@example.com"})).await.assert_status(202);
        // one that a person takes over is the person's
        invite(app.secret_key(), "taken@example.com").await;
        let taken = team.invite(&team.admin, json!({"email": "taken@example.com"})).await.assert_status(202).json();
        assert_eq!((&of_pair["confirmed"], &taken["confirmed"]), (&json!(false), &json!(true)));
        let waiting = async || {
            let list = format!("/projects/{project}/invitations");
            let list = team.owner.request(app, "GET", &list).send().await.assert_status(200).json();
            let mut found: Vec<String> = column(&list, "email").into_iter().map(str::to_owned).collect();
            found.sort();
            found
        };
        let rotate = format!("/users/@me/projects/{project}/regenerate-keys");
        let rotated = team.owner.request(app, "POST", &rotate).send().await.assert_status(200).json();
        assert_eq!(rotated["withdrawnInvitations"], json!(["pair@example.com"]));
        assert_eq!(waiting().await, ["kept@example.com", "named@example.com", "taken@example.com"]);
        let revoke = format!("/projects/{project}/keys/{}", text(&named["id"]));
        let revoked = team.owner.request(app, "DELETE", &revoke).send().await.assert_status(200).json();
        assert_eq!(revoked["withdrawnInvitations"], json!(["named@example.com"]));
        assert_eq!(waiting().await, ["kept@example.com", "taken@example.com"]);
        assert!(of_pair["token"].is_null() && of_named["token"].is_null(), "{of_pair} {of_named}");
        let audit = team.owner.audit(app, project).await;
        let withdrawn: Vec<_> = audit
            .iter()
            .filter(|entry| entry["action"] == "invitation.revoked")
            .map(|entry| (text(&entry["target"]), text(&entry["actor"]["type"])))
            .collect();
        assert_eq!(withdrawn, [("named@example.com", "user"), ("pair@example.com", "user")]);
    }

    async fn what_a_key_asks_for_waits_for_a_person(engine: Engine) {
        let team = Team::new(engine).await;
        let (app, project) = (&team.app, team.app.project_id());
        // an account with a proven address, which a person would make a member at once
        let grace = Browser::sign_up(app, "grace@example.com").await;
        app.tamper("update users set email_verified_at = created_at").await;
        let asked = app.post(&team.path).json(&json!({"email": grace.email})).send().await.assert_status(202).json();
        assert_eq!((&asked["userId"], &asked["token"], &asked["confirmed"]), (&json!(null), &json!(null), &json!(false)));
        // signing in, which accepts what a person invited to, accepts nothing of it
        let grace = Browser::log_in(app, &grace.email, mailwright_tests::browser::PASSWORD).await;
        let contacts = || grace.in_project(app, project, "GET", "/contacts").send();
        contacts().await.assert_error(403, "PROJECT_ACCESS_DENIED");
        let confirm = format!("/projects/{project}/invitations/{}/confirm", text(&asked["invitationId"]));
        app.post(&confirm).send().await.assert_error(401, "INVALID_API_KEY");
        team.member.request(app, "POST", &confirm).send().await.assert_error(403, "FORBIDDEN");
        grace.request(app, "POST", &confirm).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        let list = format!("/projects/{project}/invitations");
        let waiting = team.owner.request(app, "GET", &list).send().await.assert_status(200).json();
        assert_eq!((&waiting[0]["email"], &waiting[0]["confirmed"]), (&json!("grace@example.com"), &json!(false)));

        let joined = team.admin.request(app, "POST", &confirm).send().await.assert_status(200).json();
        assert_eq!(joined["userId"], grace.id.as_str());
        contacts().await.assert_status(200);
        team.admin.request(app, "POST", &confirm).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        let audit = team.owner.audit(app, project).await;
        assert_eq!((&audit[0]["action"], &audit[0]["actor"]["name"]), (&json!("member.added"), &json!("admin@example.com")));
        // whom a person invited needs nobody's word any more
        let invited = team.invite(&team.admin, json!({"email": "new@example.com"})).await.assert_status(202).json();
        let path = format!("{list}/{}/confirm", text(&invited["invitationId"]));
        team.owner.request(app, "POST", &path).send().await.assert_error(409, "CONFLICT");
        app.post(&team.path).json(&json!({"email": "new@example.com"})).send().await.assert_error(409, "CONFLICT");
        app.post(&team.path).json(&json!({"email": grace.email})).send().await.assert_error(409, "CONFLICT");
    }

    async fn a_key_withdraws_no_invitation_that_it_may_not_make(engine: Engine) {
        let team = Team::new(engine).await;
        let app = &team.app;
        let invite = async |email: &str, role: &str| {
            let body = json!({"email": email, "role": role});
            let made = team.invite(&team.owner, body).await.assert_status(202).json();
            format!("/projects/{}/invitations/{}", app.project_id(), text(&made["invitationId"]))
        };
        let (admin, member) = (invite("a@example.com", "ADMIN").await, invite("b@example.com", "MEMBER").await);
        app.delete(&admin).send().await.assert_error(403, "FORBIDDEN");
        app.delete(&member).send().await.assert_status(200);
        team.admin.request(app, "DELETE", &admin).send().await.assert_status(200);
    }
}
