import { texts } from '#/i18n/language';

/** The texts of choosing a picture. */
export const t = texts({
  en: {
    title: 'Choose a picture',
    upload: 'Upload a picture',
    drop: 'Drop a picture here, or',
    kinds: 'PNG, JPEG, GIF or WebP, at most 10 MB.',
    uploaded: 'Uploaded pictures',
    none: 'This project has no pictures yet. The first one that you upload is chosen at once.',
    more: 'Show more',
    size: (width: number, height: number) => `${width} × ${height} px`,
    address: 'Or its address',
    addressHint: 'A picture elsewhere. Mail programs load it from there.',
    alt: 'Alternative text',
    altHint: 'What the picture says, for those who do not see it. Empty if it only decorates.',
    use: 'Use the picture',
    chosen: 'Chosen',
  },
  de: {
    title: 'Bild wählen',
    upload: 'Bild hochladen',
    drop: 'Lege hier ein Bild ab oder',
    kinds: 'PNG, JPEG, GIF oder WebP, höchstens 10 MB.',
    uploaded: 'Hochgeladene Bilder',
    none: 'Dieses Projekt hat noch keine Bilder. Das erste, das du hochlädst, ist gleich gewählt.',
    more: 'Mehr zeigen',
    size: (width: number, height: number) => `${width} × ${height} px`,
    address: 'Oder seine Adresse',
    addressHint: 'Ein Bild anderswo. Mailprogramme laden es von dort.',
    alt: 'Alternativtext',
    altHint: 'Was das Bild sagt, für alle, die es nicht sehen. Leer, wenn es nur schmückt.',
    use: 'Bild verwenden',
    chosen: 'Gewählt',
  },
});
