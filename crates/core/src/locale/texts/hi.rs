//! Hindi.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "आपको यह ईमेल इसलिए मिला है क्योंकि आपने {project} से ईमेल पाने की सहमति दी थी।",
    update_preferences: "अपनी प्राथमिकताएँ बदलें",
    preferences: "ईमेल प्राथमिकताएँ",
    unsubscribe: "सदस्यता समाप्त करें",
    subscribe: "सदस्यता लें",
    subscribe_again: "फिर से सदस्यता लें",
    unsubscribe_question: "क्या आप इन ईमेल की सदस्यता समाप्त करना चाहते हैं?",
    unsubscribe_explanation: "{email} पर {project} के मार्केटिंग ईमेल अब नहीं भेजे जाएँगे।",
    unsubscribed: "आपकी सदस्यता समाप्त कर दी गई है",
    not_subscribed: "{email} पर {project} के मार्केटिंग ईमेल की सदस्यता चालू नहीं है।",
    changed_mind: "क्या आपने अपना मन बदल लिया है?",
    subscribe_question: "क्या आप इन ईमेल की सदस्यता लेना चाहते हैं?",
    subscribe_explanation: "{email} पर {project} के मार्केटिंग ईमेल भेजे जाएँगे।",
    subscribed: "आपकी सदस्यता शुरू हो गई है",
    is_subscribed: "{email} पर {project} के मार्केटिंग ईमेल की सदस्यता चालू है।",
    invalid_link: "यह लिंक मान्य नहीं है",
    invalid_link_text: "हो सकता है कि यह अधूरा या पुराना हो। कृपया इसे ईमेल से दोबारा खोलें।",
    failed: "कुछ गड़बड़ हो गई",
    failed_text: "कृपया कुछ मिनट बाद फिर कोशिश करें।",
};
