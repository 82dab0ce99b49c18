import { Mark } from '@tiptap/core';

/** A link. Its address may hold placeholders. Following it is for the reader of the mail. */
export const Link = Mark.create({
  name: 'link',
  inclusive: false,
  priority: 900,
  addAttributes: () => ({
    href: {
      default: '',
      rendered: false,
      parseHTML: (element: HTMLElement) => element.getAttribute('data-href') ?? element.getAttribute('href') ?? '',
    },
  }),
  parseHTML: () => [{ tag: 'a[data-href]' }, { tag: 'a[href]' }],
  // without an address of its own: a click puts the cursor into it
  renderHTML: ({ mark }) => ['a', { 'data-href': mark.attrs.href, title: mark.attrs.href, class: 'mw-link' }, 0],
});

/** A colour of a piece of text. */
export const Color = Mark.create({
  name: 'color',
  addAttributes: () => ({
    color: {
      default: '',
      rendered: false,
      parseHTML: (element: HTMLElement) => element.getAttribute('data-color') ?? '',
    },
  }),
  parseHTML: () => [{ tag: 'span[data-color]' }],
  renderHTML: ({ mark }) => [
    'span',
    {
      'data-color': mark.attrs.color,
      style: /^#[0-9a-f]{6}$/i.test(mark.attrs.color) ? `color:${mark.attrs.color}` : '',
    },
    0,
  ],
});
