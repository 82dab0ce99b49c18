import { FONTS, type FontName, type Theme } from '../../document.ts';
import { t } from '../texts';
import { ChoiceField, ColorField, NumberField } from './controls';

/** What holds for the whole mail. */
export function DesignSettings({ theme, onChange }: { theme: Theme; onChange: (theme: Theme) => void }) {
  const set = (change: Partial<Theme>) => onChange({ ...theme, ...change });
  const fonts = Object.keys(FONTS).map((name) => [name, t.fonts[name] ?? name] as const);
  return (
    <div className="space-y-3">
      <ColorField label={t.pageBackground} value={theme.background} onChange={(background) => set({ background })} />
      <ColorField label={t.surface} value={theme.surface} onChange={(surface) => set({ surface })} />
      <ColorField label={t.textOf} value={theme.color} onChange={(color) => set({ color })} />
      <ColorField label={t.accent} value={theme.accent} onChange={(accent) => set({ accent })} />
      <ChoiceField label={t.font} value={theme.font} choices={fonts} onChange={(font) => set({ font: font as FontName })} />
      <NumberField label={t.mailWidth} value={theme.width} min={320} max={1200} onChange={(width) => set({ width })} />
    </div>
  );
}
