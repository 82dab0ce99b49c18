import { Plus, X } from 'lucide';
import { useState } from 'react';
import { Button, IconButton } from '#/ui/button';
import { TextField } from '#/ui/form';
import { Icon } from '#/ui/icon';

interface Pair {
  readonly key: number;
  readonly name: string;
  readonly value: string;
}

let next = 0;

/** Names with a text for each, such as headers. Those without a name are left out of what is told. */
export function Pairs({ legend, labels, value, placeholder, faults, onChange }: {
  legend: string;
  labels: { name: (n: number) => string; value: (n: number) => string; add: string; remove: (name: string) => string };
  value: Readonly<Record<string, string>>;
  placeholder: readonly [name: string, value: string];
  faults: (name: string) => string | undefined;
  onChange: (value: Readonly<Record<string, string>>) => void;
}) {
  const [pairs, setPairs] = useState<readonly Pair[]>(() =>
    Object.entries(value).map(([name, text]) => ({ key: next++, name, value: text })),
  );
  const change = (to: readonly Pair[]) => {
    setPairs(to);
    onChange(Object.fromEntries(to.filter((pair) => pair.name.trim() !== '').map((pair) => [pair.name.trim(), pair.value])));
  };
  const edit = (key: number, to: Partial<Pair>) => change(pairs.map((pair) => (pair.key === key ? { ...pair, ...to } : pair)));
  return (
    <fieldset className="space-y-2">
      <legend className="font-medium">{legend}</legend>
      {pairs.map((pair, index) => (
        <div key={pair.key} className="flex items-start gap-1">
          <div className="min-w-0 flex-1">
            <TextField
              label={labels.name(index + 1)}
              hideLabel
              value={pair.name}
              placeholder={placeholder[0]}
              error={faults(pair.name)}
              onChange={(event) => edit(pair.key, { name: event.target.value })}
            />
          </div>
          <div className="min-w-0 flex-1">
            <TextField
              label={labels.value(index + 1)}
              hideLabel
              value={pair.value}
              placeholder={placeholder[1]}
              onChange={(event) => edit(pair.key, { value: event.target.value })}
            />
          </div>
          <IconButton label={labels.remove(pair.name)} onClick={() => change(pairs.filter((one) => one.key !== pair.key))}>
            <Icon of={X} size={14} />
          </IconButton>
        </div>
      ))}
      <Button size="small" onClick={() => setPairs([...pairs, { key: next++, name: '', value: '' }])}>
        <Icon of={Plus} size={14} />
        {labels.add}
      </Button>
    </fieldset>
  );
}
