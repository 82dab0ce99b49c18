//! Spanish.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "Recibe este correo porque aceptó recibir correos de {project}.",
    update_preferences: "Actualizar preferencias",
    preferences: "Preferencias de correo",
    unsubscribe: "Cancelar la suscripción",
    subscribe: "Suscribirse",
    subscribe_again: "Suscribirse de nuevo",
    unsubscribe_question: "¿Cancelar la suscripción a estos correos?",
    unsubscribe_explanation: "{email} dejará de recibir correos de marketing de {project}.",
    unsubscribed: "Se ha cancelado su suscripción",
    not_subscribed: "La dirección {email} no está suscrita a los correos de marketing de {project}.",
    changed_mind: "¿Ha cambiado de opinión?",
    subscribe_question: "¿Suscribirse a estos correos?",
    subscribe_explanation: "{email} recibirá correos de marketing de {project}.",
    subscribed: "Se ha confirmado su suscripción",
    is_subscribed: "La dirección {email} está suscrita a los correos de marketing de {project}.",
    invalid_link: "Este enlace no es válido",
    invalid_link_text: "Puede que esté incompleto o desactualizado. Ábralo de nuevo desde el correo.",
    failed: "Se ha producido un error",
    failed_text: "Vuelva a intentarlo dentro de unos minutos.",
};
