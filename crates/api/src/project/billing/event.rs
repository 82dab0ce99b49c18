//! `/webhooks/incoming/payments`: what the payment service tells.

use axum::extract::{Request, State};
use mailwright_app::App;
use mailwright_app::project::billing::PaymentAnswer;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::json::Json;
use crate::schema;

/// Most bytes of an event.
const MAX_EVENT: usize = 1024 * 1024;
/// The header with the signature.
const SIGNATURE: &str = "stripe-signature";

/// The event was received.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PaymentEventReceived {
    success: bool,
    received: bool,
}

/// Take an event of the payment service
///
/// For the payment service alone, which signs what it posts here. An event that was taken before changes nothing.
#[utoipa::path(post, path = "/webhooks/incoming/payments", tag = "Service", operation_id = "takePaymentEvent",
    request_body(content = String, content_type = "text/plain", description = "An event, signed by the header `Stripe-Signature`"),
    responses(
        (status = 200, body = PaymentEventReceived),
        (status = 400, description = "The signature is missing or not valid, or it is no event", body = ErrorEnvelope),
        (status = 404, description = "This instance does not bill", body = ErrorEnvelope)))]
pub(crate) async fn take(State(app): State<App>, request: Request) -> Result<Json<PaymentEventReceived>> {
    taken(&app, request).await
}

/// Take an event of the payment service, at the address of other programs
///
/// The same as `POST /webhooks/incoming/payments`.
#[utoipa::path(post, path = "/webhooks/incoming/stripe", tag = "Service", operation_id = "takeStripeEvent",
    request_body(content = String, content_type = "text/plain", description = "An event, signed by the header `Stripe-Signature`"),
    responses(
        (status = 200, body = PaymentEventReceived),
        (status = 400, description = "The signature is missing or not valid, or it is no event", body = ErrorEnvelope),
        (status = 404, description = "This instance does not bill", body = ErrorEnvelope)))]
pub(crate) async fn take_alias(
    State(app): State<App>,
    request: Request,
) -> Result<Json<PaymentEventReceived>> {
    taken(&app, request).await
}

async fn taken(app: &App, request: Request) -> Result<Json<PaymentEventReceived>> {
    if !app.bills() {
        return Err(mailwright_app::Error::NoBilling.into());
    }
    let header = request.headers().get(SIGNATURE).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let event = schema::read(request, MAX_EVENT).await?;
    match app.take_payment_event(header.as_deref(), &event).await? {
        PaymentAnswer::Received => Ok(Json(PaymentEventReceived { success: true, received: true })),
        PaymentAnswer::Invalid(why) => Err(ApiError::bad_request(why)),
    }
}
