/**
 * The document of the visual editor. It is kept beside the MJML that is written from it, and is what the editor opens
 * again. A change of its shape needs another `version`: what is stored stays readable.
 */
export interface EmailDocument {
  /** Tells this editor's documents from those of others. */
  editor: 'mailwright';
  version: 1;
  /** What mail programs show beside the subject. */
  preview: string;
  theme: Theme;
  sections: SectionNode[];
}

/** What holds for the whole mail. Colours are `#rrggbb`. */
export interface Theme {
  background: string;
  surface: string;
  color: string;
  accent: string;
  font: FontName;
  /** Pixels. */
  width: number;
}

/** The font stacks that mail programs have. */
export const FONTS = {
  sans: 'Helvetica, Arial, sans-serif',
  system: "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif",
  serif: "Georgia, 'Times New Roman', serif",
  mono: "Menlo, Consolas, 'Courier New', monospace",
} as const;

/** The name of a font stack. */
export type FontName = keyof typeof FONTS;
/** Where something stands in its line. */
export type Align = 'left' | 'center' | 'right';

/** How a new mail looks. */
export const THEME: Theme = {
  background: '#f4f4f5',
  surface: '#ffffff',
  color: '#27272a',
  accent: '#4338ca',
  font: 'sans',
  width: 600,
};

/** The room around a block, in pixels. */
export interface Room {
  top: number;
  bottom: number;
  sides: number;
}

const ROOM: Room = { top: 0, bottom: 16, sides: 24 };
const LEFT = 'left' as Align;
const CENTER = 'center' as Align;

/** The attributes of each node with what they are where nothing is set. An empty colour is the theme's. */
export const DEFAULTS = {
  section: { background: '', top: 24, bottom: 8, fullWidth: false, showIf: '', each: '' },
  column: { width: 0, background: '', vertical: 'top' as 'top' | 'middle' | 'bottom' },
  paragraph: { align: LEFT, color: '', size: 16, ...ROOM },
  heading: { level: 1, align: LEFT, color: '', ...ROOM },
  bulletList: {},
  orderedList: { start: 1 },
  listItem: {},
  button: { href: '', align: LEFT, background: '', color: '#ffffff', radius: 6, wide: false, ...ROOM, bottom: 24 },
  image: { src: '', alt: '', href: '', width: 0, align: CENTER, radius: 0, ...ROOM },
  divider: { color: '#d4d4d8', thickness: 1, ...ROOM, top: 8, bottom: 24 },
  spacer: { height: 24 },
  raw: {},
  footer: { align: CENTER, color: '#71717a', ...ROOM },
  condition: {},
  branch: { kind: 'if' as 'if' | 'elsif' | 'else', test: '' },
  loop: { item: 'item', list: '' },
};

/** The name of a node with attributes of its own. */
export type NodeName = keyof typeof DEFAULTS;
/** The attributes of a node. */
export type Attrs<N extends NodeName> = (typeof DEFAULTS)[N];

interface Node<N extends NodeName, C = never> {
  type: N;
  attrs?: Partial<Attrs<N>>;
  content?: C[];
}

/** How a piece of text is set. */
export type Mark =
  | { type: 'bold' | 'italic' | 'underline' | 'strike' }
  | { type: 'link'; attrs: { href: string } }
  | { type: 'color'; attrs: { color: string } };

/** What stands in a line. A variable keeps its text as it was written. */
export type Inline =
  | { type: 'text'; text: string; marks?: Mark[] }
  | { type: 'variable'; attrs: { source: string }; marks?: Mark[] }
  | { type: 'hardBreak'; marks?: Mark[] };

/** A part of the mail over its whole width. */
export type SectionNode = Node<'section', ColumnNode>;
/** A column of a section. */
export type ColumnNode = Node<'column', Block>;
/** An entry of a list. */
export type ListItemNode = Node<'listItem', Block>;
/** A branch of a condition. */
export type BranchNode = Node<'branch', Block>;
/** What stands in a column. */
export type Block =
  | Node<'paragraph', Inline>
  | Node<'heading', Inline>
  | Node<'bulletList', ListItemNode>
  | Node<'orderedList', ListItemNode>
  | Node<'button', Inline>
  | Node<'image'>
  | Node<'divider'>
  | Node<'spacer'>
  | Node<'raw', Inline>
  | Node<'footer', Inline>
  | Node<'condition', BranchNode>
  | Node<'loop', Block>;

/** The attributes of a node, with defaults in the place of what is missing. */
export function attrsOf<N extends NodeName>(node: { type: N; attrs?: Partial<Attrs<N>> }): Attrs<N> {
  return { ...DEFAULTS[node.type], ...node.attrs };
}

/** A document with these sections. */
export function documentOf(sections: SectionNode[], theme: Partial<Theme> = {}, preview = ''): EmailDocument {
  return { editor: 'mailwright', version: 1, preview, theme: { ...THEME, ...theme }, sections };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// maps, because `constructor` is a name as well
const DEFAULTS_OF: ReadonlyMap<string, Readonly<Record<string, unknown>>> = new Map(Object.entries(DEFAULTS));
/** The attributes of what has no defaults. */
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([['variable', ['source']], ['link', ['href']], ['color', ['color']]]);

/** Whether a stored node and all in it have the types that the writer counts on. */
function isNode(value: unknown): boolean {
  if (!isRecord(value) || typeof value.type !== 'string') return false;
  const { type, text, attrs = {}, content = [], marks = [] } = value;
  if (!isRecord(attrs) || !Array.isArray(content) || !Array.isArray(marks)) return false;
  if (type === 'text' && typeof text !== 'string') return false;
  const defaults = DEFAULTS_OF.get(type) ?? {};
  return (
    Object.entries(attrs).every(([name, given]) => !Object.hasOwn(defaults, name) || typeof given === typeof defaults[name]) &&
    (REQUIRED.get(type) ?? []).every((name) => typeof attrs[name] === 'string') &&
    content.every(isNode) &&
    marks.every(isNode)
  );
}

/**
 * A stored document, if it is one of this editor's. Whether its sections fit the schema in all is found when it is opened.
 */
export function readDocument(value: unknown): EmailDocument | undefined {
  if (!isRecord(value) || value.editor !== 'mailwright' || value.version !== 1) return undefined;
  if (!Array.isArray(value.sections) || value.sections.length === 0 || !value.sections.every(isNode)) {
    return undefined;
  }
  const theme = isRecord(value.theme) ? value.theme : {};
  const text = (name: 'background' | 'surface' | 'color' | 'accent') =>
    typeof theme[name] === 'string' ? theme[name] : THEME[name];
  const width = Number(theme.width);
  return {
    editor: 'mailwright',
    version: 1,
    preview: typeof value.preview === 'string' ? value.preview : '',
    theme: {
      background: text('background'),
      surface: text('surface'),
      color: text('color'),
      accent: text('accent'),
      font: typeof theme.font === 'string' && Object.hasOwn(FONTS, theme.font) ? (theme.font as FontName) : THEME.font,
      width: Number.isFinite(width) && width >= 320 && width <= 1200 ? width : THEME.width,
    },
    sections: value.sections as SectionNode[],
  };
}
