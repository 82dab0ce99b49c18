import { texts } from '#/i18n/language';

/** Why an open or a click counts as a person's or a machine's. `whose` is empty, or whose machine it is in brackets. */
export const t = texts({
  en: {
    reasons: {
      ordinary: () => 'Nothing speaks against a person.',
      'image-proxy': (whose: string) => `A proxy${whose} fetches the images when a person opens the mail.`,
      prefetch: (whose: string) => `A proxy${whose} fetched the images within seconds of the delivery.`,
      address: (whose: string) => `The address belongs to a machine${whose}.`,
      agent: (whose: string) => `The user agent is that of a machine${whose}.`,
      'address-and-agent': (whose: string) => `The address and the user agent are those of a machine${whose}.`,
      'no-agent': () => 'The request named no user agent.',
      trap: () => 'An invisible link was followed.',
      burst: () => 'More different links were followed in a short time than a person can follow.',
      'too-soon': () => 'The link was followed sooner after the delivery than a person can read.',
      'early-open': () => 'The mail was opened just after the delivery, while a machine looked at it.',
      company: () => 'The address or the user agent is that of a machine which looked at the mail at that time.',
    },
    owners: { 'a machine': '', 'a bot': 'bot', 'a browser without a window': 'browser without a window' },
  },
  de: {
    reasons: {
      ordinary: () => 'Nichts spricht gegen einen Menschen.',
      'image-proxy': (whose: string) => `Ein Proxy${whose} holt die Bilder, wenn ein Mensch die Mail öffnet.`,
      prefetch: (whose: string) => `Ein Proxy${whose} hat die Bilder binnen Sekunden nach der Zustellung geholt.`,
      address: (whose: string) => `Die Adresse gehört einer Maschine${whose}.`,
      agent: (whose: string) => `Der User-Agent ist der einer Maschine${whose}.`,
      'address-and-agent': (whose: string) => `Adresse und User-Agent sind die einer Maschine${whose}.`,
      'no-agent': () => 'Die Anfrage nannte keinen User-Agent.',
      trap: () => 'Ein unsichtbarer Link wurde angeklickt.',
      burst: () => 'In kurzer Zeit wurden mehr verschiedene Links angeklickt, als ein Mensch es kann.',
      'too-soon': () => 'Der Link wurde früher nach der Zustellung angeklickt, als ein Mensch lesen kann.',
      'early-open': () => 'Die Mail wurde gleich nach der Zustellung geöffnet, während eine Maschine sie ansah.',
      company: () => 'Adresse oder User-Agent sind die einer Maschine, die sich die Mail zu dieser Zeit ansah.',
    },
    owners: { 'a machine': '', 'a bot': 'Bot', 'a browser without a window': 'Browser ohne Fenster' },
  },
});
