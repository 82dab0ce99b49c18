//! `/auth/invitation`: the page behind the link of an invitation. A `GET` changes nothing.
//!
//! A person who is signed in with the invited address accepts with one click. Others sign in, or sign up, with the
//! page's form.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use mailwright_app::account::client_key::ClientKey;
use mailwright_app::account::oauth::Provider;
use mailwright_app::account::session::SignUp;
use mailwright_app::project::member::Opened;
use mailwright_app::{App, Error};
use mailwright_core::locale::Locale;
use mailwright_core::role::Role;
use mailwright_core::template_language::escape_html;
use mailwright_store::account::user::User;
use utoipa::ToSchema;

use crate::account::one_time_link::page::{asked, dead_link, form, new_password_field, password_issue, told};
use crate::account::session::session_header;
use crate::auth::{Client, SameSite, visitor};
use crate::error::ErrorEnvelope;
use crate::fields::{Code, LinkToken, Password, PlainName};
use crate::page::{Form, failed};
use crate::params::Params;

/// The fields of the page's form.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it documents the form, which is read field by field")]
pub(crate) struct InvitationForm {
    /// The token in the link.
    token: LinkToken,
    /// Password of the account with the invited address, or of a new account.
    password: Option<Password>,
    /// Required if the account has a second factor: the code that the authenticator app shows, or a recovery code.
    code: Option<Code>,
    /// Display name of the owner of a new account.
    name: Option<PlainName>,
}

/// The page behind the link of an invitation
#[utoipa::path(get, path = "/auth/invitation", tag = "Accounts", operation_id = "invitationPage", security(()),
    params(("token" = Option<String>, Query, description = "The token in the link")),
    responses(
        (status = 200, description = "A page with a form that posts to the same path", content_type = "text/html", body = String),
        (status = 403, description = "A page that says that the project is disabled, or that the address must be verified first", content_type = "text/html", body = String),
        (status = 404, description = "A page that says that the link does not work", content_type = "text/html", body = String)))]
pub(crate) async fn page(State(app): State<App>, params: Params, headers: HeaderMap) -> Response {
    let token = params.text("token").unwrap_or_default();
    match looked_up(&app, token, &headers).await {
        Ok(Some((invitation, user))) => {
            Asking { app: &app, token, invitation: &invitation }.page(user.as_ref())
        }
        Ok(None) => dead(),
        Err(error) => failed(Locale::En, error),
    }
}

/// Accept an invitation from its page
///
/// Takes the form of the page. A person who is not signed in with the invited address signs in, or signs up, with the
/// fields of the form. Programs use `POST /users/@me/invitations` or `POST /auth/signup`.
#[utoipa::path(post, path = "/auth/invitation", tag = "Accounts", operation_id = "acceptInvitationPage", security((), ("session" = [])),
    request_body(content = InvitationForm, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "A page that confirms it; it may set the cookie of a session", content_type = "text/html", body = String),
        (status = 401, description = "The page with its form again: the password or the code is wrong, or the code is missing", content_type = "text/html", body = String),
        (status = 403, description = "A page that says that the project is disabled, or that the address must be verified first; or the request comes from a page of another site", content((ErrorEnvelope = "application/json"), (String = "text/html"))),
        (status = 404, description = "A page that says that the link does not work", content_type = "text/html", body = String),
        (status = 409, description = "A page that says that it failed: the address has an account by now, or the project is full", content_type = "text/html", body = String),
        (status = 422, description = "The page with its form again: the password or the name is not accepted", content_type = "text/html", body = String)))]
pub(crate) async fn accept(
    State(app): State<App>,
    _: SameSite,
    Client(client): Client,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let form = match Form::read(request).await {
        Ok(form) => form,
        Err(failed) => return failed,
    };
    let token = form.text("token").unwrap_or_default();
    let (invitation, user) = match looked_up(&app, token, &headers).await {
        Ok(Some(found)) => found,
        Ok(None) => return dead(),
        Err(error) => return failed(Locale::En, error),
    };
    if invitation.project.disabled {
        return disabled();
    }
    let asking = Asking { app: &app, token, invitation: &invitation };
    match (user, invitation.account) {
        (Some(user), _) => asking.accept(&user).await,
        (None, Some(_)) => asking.log_in(&form, client).await,
        (None, None) => asking.sign_up(&form, client).await,
    }
}

/// The invitation of a token, and the user who is signed in with the invited address, if any.
async fn looked_up(
    app: &App,
    token: &str,
    headers: &HeaderMap,
) -> mailwright_app::Result<Option<(Opened, Option<User>)>> {
    let Some(invitation) = app.opened_invitation(token).await? else { return Ok(None) };
    let user = visitor(app, headers).await?.filter(|user| user.email == invitation.email);
    Ok(Some((invitation, user)))
}

fn dead() -> Response {
    dead_link("Ask the person who invited you for another one.")
}

/// An invitation that somebody is asked to accept.
struct Asking<'a> {
    app: &'a App,
    token: &'a str,
    invitation: &'a Opened,
}

impl Asking<'_> {
    /// The page as it is opened; `user` is signed in with the invited address.
    fn page(&self, user: Option<&User>) -> Response {
        if self.invitation.project.disabled {
            return disabled();
        }
        match (user, self.invitation.account) {
            (Some(user), _) if self.app.requires_verification(user) => unverified(),
            (Some(_), _) => self.ask(StatusCode::OK, None, "", "Accept the invitation"),
            (None, Some(_)) => self.ask_to_log_in(StatusCode::OK, None, false),
            (None, None) => self.ask_to_sign_up(None, ""),
        }
    }

    fn ask(&self, status: StatusCode, alert: Option<&str>, fields: &str, button: &str) -> Response {
        let Opened { email, role, invited_by, project, .. } = self.invitation;
        let project = escape_html(&project.name);
        let role = match role {
            Role::Owner => "an owner",
            Role::Admin => "an administrator",
            Role::Member => "a member",
        };
        let heading = format!("Join {project}");
        let sentence = format!(
            "{} invites <b>{}</b> to be {role} of the project {project}.",
            escape_html(invited_by),
            escape_html(email.as_str()),
        );
        asked(status, &heading, &sentence, &form("invitation", self.token, alert, fields, button))
    }

    fn ask_to_log_in(&self, status: StatusCode, alert: Option<&str>, with_code: bool) -> Response {
        if self.invitation.account == Some(false) {
            return self.ask_to_sign_in_elsewhere();
        }
        let code = if with_code {
            "<label for=\"code\">Code of your authenticator program, or a recovery code</label>\
             <input id=\"code\" name=\"code\" autocomplete=\"one-time-code\" required maxlength=\"40\">"
        } else {
            ""
        };
        let fields = format!(
            "<p>The address has an account. Sign in with it.</p><label for=\"password\">Password</label>\
             <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" required \
             maxlength=\"1000\">{code}"
        );
        self.ask(status, alert, &fields, "Sign in and accept")
    }

    /// For an account without a password: signing in accepts what its address was invited to.
    fn ask_to_sign_in_elsewhere(&self) -> Response {
        let links: Vec<String> = [Provider::GitHub, Provider::Google]
            .into_iter()
            .filter(|provider| self.app.offers(*provider))
            .map(|provider| {
                format!("<a href=\"../oauth/{}/outbound\">{}</a>", provider.as_str(), provider.label())
            })
            .collect();
        let project = escape_html(&self.invitation.project.name);
        let sentence = format!(
            "The address <b>{}</b> has an account without a password. Sign in with {} to join the project.",
            escape_html(self.invitation.email.as_str()),
            if links.is_empty() { "its provider".to_owned() } else { links.join(" or ") },
        );
        told(StatusCode::OK, &format!("Join {project}"), &sentence)
    }

    fn ask_to_sign_up(&self, alert: Option<&str>, name: &str) -> Response {
        let status = if alert.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        let fields = format!(
            "<p>This creates your account.</p><label for=\"name\">Your name (optional)</label>\
             <input id=\"name\" name=\"name\" autocomplete=\"name\" maxlength=\"100\" value=\"{}\">{}",
            escape_html(name),
            new_password_field("password"),
        );
        self.ask(status, alert, &fields, "Create the account and accept")
    }

    async fn accept(&self, user: &User) -> Response {
        if self.app.requires_verification(user) {
            return unverified();
        }
        match self.app.accept_invitation(user, self.token).await {
            Ok(()) => self.joined(),
            Err(Error::NotFound { .. }) => dead(),
            Err(Error::ProjectDisabled) => disabled(),
            Err(error) => failed(Locale::En, error),
        }
    }

    async fn log_in(&self, form: &Form, client: ClientKey) -> Response {
        let password = form.text("password").unwrap_or_default().to_owned();
        let code = form.text("code").map(str::to_owned);
        let with_code = code.is_some();
        let refused = |alert, with_code| self.ask_to_log_in(StatusCode::UNAUTHORIZED, Some(alert), with_code);
        let found = match self.app.log_in(&self.invitation.email, password, code, client).await {
            Ok(found) => found,
            Err(Error::InvalidCredentials) => return refused("The password is wrong.", with_code),
            Err(Error::CodeRequired) => return refused("The account needs a code as well.", true),
            Err(Error::WrongCode) => return refused("The code is wrong, or was used before.", true),
            Err(error) => return failed(Locale::En, error),
        };
        // signing in accepted what a verified address was invited to, where there was room
        let answer = match self.app.opened_invitation(self.token).await {
            Ok(None) if found.user.email_verified => match self.app.agree(&found.user, self.invitation).await
            {
                Ok(()) => self.joined(),
                Err(error) => failed(Locale::En, error),
            },
            Ok(_) => self.accept(&found.user).await,
            Err(error) => failed(Locale::En, error),
        };
        with_cookie(answer, &session_header(self.app, &found))
    }

    async fn sign_up(&self, form: &Form, client: ClientKey) -> Response {
        let (password, name) = (form.text("password"), form.text("name").map(str::trim).unwrap_or_default());
        if let Some(issue) = password_issue(password) {
            return self.ask_to_sign_up(Some(&issue), name);
        }
        if !name.is_empty() && (!mailwright_core::name::is_plain(name) || name.chars().count() > 100) {
            let issue = "The name must have at most 100 characters, and no line ends or invisible ones.";
            return self.ask_to_sign_up(Some(issue), "");
        }
        let wanted = SignUp {
            email: self.invitation.email.clone(),
            password: password.unwrap_or_default().to_owned(),
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            invitation: Some(self.token.to_owned()),
        };
        match self.app.sign_up(wanted, client).await {
            Ok(found) => with_cookie(self.joined(), &session_header(self.app, &found)),
            Err(Error::NotFound { .. }) => dead(),
            Err(Error::ProjectDisabled) => disabled(),
            Err(error) => failed(Locale::En, error),
        }
    }

    fn joined(&self) -> Response {
        let project = escape_html(&self.invitation.project.name);
        let sentence = "You are signed in. <a href=\"../app/\">Open the dashboard</a>.";
        told(StatusCode::OK, &format!("You are in {project} now"), sentence)
    }
}

/// For an invitation to a project that takes nobody for now.
fn disabled() -> Response {
    let sentence = "Nobody can join it until the operator of this instance enables it again. The invitation stays until \
                    then: open this link once more.";
    told(StatusCode::FORBIDDEN, "The project is disabled", sentence)
}

/// The answer to a user who must verify the address first, which also accepts the invitation.
fn unverified() -> Response {
    let sentence =
        "Open the link that was sent to it when you signed up. The invitation is accepted with it.";
    told(StatusCode::FORBIDDEN, "Confirm your address first", sentence)
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}
