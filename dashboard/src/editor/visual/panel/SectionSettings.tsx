import { Checkbox } from '#/ui/form';
import { VariableInput } from '../../variables/VariableInput';
import { setColumns } from '../blocks';
import { t } from '../texts';
import { ChoiceField, ColorField, NumberField } from './controls';
import type { SettingsProps } from './settings';

/** The widths of columns in percent; 0 is an equal share. */
const LAYOUTS: Record<string, readonly number[]> = {
  '1': [0],
  '2': [0, 0],
  '33-67': [33, 67],
  '67-33': [67, 33],
  '3': [0, 0, 0],
  '4': [0, 0, 0, 0],
};

/** The settings of a section. */
export function SectionSettings({ editor, placed, attrs, set, theme }: SettingsProps) {
  const widths = placed.node.children.map((column) => Number(column.attrs.width));
  const layout = Object.keys(LAYOUTS).find((key) => String(LAYOUTS[key]) === String(widths)) ?? '';
  const choices = Object.keys(LAYOUTS).map((key) => [key, t.layouts[key] ?? key] as const);
  return (
    <>
      <ChoiceField
        label={t.layout}
        value={layout}
        choices={layout ? choices : [['', widths.map((width) => (width ? `${width} %` : '–')).join(' / ')], ...choices]}
        onChange={(to) => {
          const columns = LAYOUTS[to];
          if (columns) setColumns(editor, placed, columns);
        }}
      />
      <ColorField label={t.background} value={String(attrs.background)} fallback={theme.surface} onChange={(background) => set({ background })} />
      <Checkbox label={t.fullWidth} checked={attrs.fullWidth === true} onChange={(event) => set({ fullWidth: event.target.checked })} />
      <div className="grid grid-cols-2 gap-2">
        <NumberField label={t.top} value={Number(attrs.top)} max={200} onChange={(top) => set({ top })} />
        <NumberField label={t.bottom} value={Number(attrs.bottom)} max={200} onChange={(bottom) => set({ bottom })} />
      </div>
      <VariableInput label={t.showIf} hint={t.showIfHint} value={String(attrs.showIf)} onChange={(showIf) => set({ showIf })} />
      <VariableInput label={t.each} hint={t.eachHint} value={String(attrs.each)} onChange={(each) => set({ each })} />
    </>
  );
}
