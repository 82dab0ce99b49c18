import { Eye, EyeOff } from 'lucide';
import {
  type ComponentProps,
  createContext,
  type FormEvent,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import { ApiError, type Issue } from '#/api/error';
import { Button, IconButton } from './button';
import { classes } from './classes';
import { Problem } from './problem';
import { t } from './texts';
import { Icon } from './icon';
import { Words } from './words';

interface FormState {
  busy: boolean;
  /** What the API says about each field, by its path. */
  issues: ReadonlyMap<string, string>;
}

const Context = createContext<FormState>({ busy: false, issues: new Map() });

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  /** Does what the form is for. What it throws is shown: at its field when there is one of that name, else above. */
  onSubmit: (data: FormData) => Promise<unknown> | void;
  children: ReactNode;
}

/**
 * A form whose fields are the browser's. Fields are named as the API names them, so that a refusal is shown at the field
 * that it is about; the first of them gets the focus.
 */
export function Form({ onSubmit, children, className, ...rest }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const issues = useMemo(
    () => new Map(error instanceof ApiError ? error.issues.map((issue) => [issue.field, issue.message] as const) : []),
    [error],
  );
  const names = () => [...(form.current?.elements ?? [])].map((field) => field.getAttribute('name') ?? '');
  const [unplaced, setUnplaced] = useState(false);
  useEffect(() => {
    if (!error) return;
    const present = names();
    const known = [...issues.keys()];
    setUnplaced(known.length === 0 || known.some((name) => !present.includes(name)));
    const first = form.current?.querySelector<HTMLElement>('[aria-invalid=true]');
    first?.focus();
    // oxlint-disable-next-line react/exhaustive-deps -- what follows is read when the error changes
  }, [error]);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    event.stopPropagation();
    setError(undefined);
    const done = onSubmit(new FormData(event.currentTarget));
    if (!done) return;
    setBusy(true);
    done.catch(setError).finally(() => setBusy(false));
  };
  return (
    <Context value={{ busy, issues }}>
      <form ref={form} onSubmit={submit} className={classes('space-y-4', className)} {...rest}>
        {error !== undefined && unplaced && <Problem error={error} />}
        {children}
      </form>
    </Context>
  );
}

/** What the API says about a field whose value has parts, such as a condition: each issue with its path within the field. */
export function useIssues(name: string): readonly Issue[] {
  const { issues } = useContext(Context);
  return useMemo(
    () =>
      [...issues]
        .filter(([field]) => field === name || field.startsWith(`${name}.`))
        .map(([field, message]) => ({ code: 'custom', field: field.slice(name.length + 1), message })),
    [issues, name],
  );
}

/** The button that sends its form. */
export function SubmitButton({ variant = 'primary', disabled, ...rest }: ComponentProps<typeof Button>) {
  const { busy } = useContext(Context);
  return <Button type="submit" variant={variant} busy={busy} disabled={disabled ?? false} {...rest} />;
}

/** How a field looks. */
export const CONTROL = classes(
  'w-full rounded-control border border-control bg-panel px-2.5 text-input text-ink placeholder:text-muted',
  'disabled:opacity-60 aria-invalid:border-bad',
);

interface FieldProps {
  label: string;
  /** One sentence below the label. */
  hint?: ReactNode;
  /** What is wrong, found in the browser. What the API says about `name` comes by itself. */
  error?: string | undefined;
  /** The label is for those who do not see the field. */
  hideLabel?: boolean;
  name?: string | undefined;
  required?: boolean | undefined;
  children: (control: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': boolean | undefined;
  }) => ReactNode;
}

/** A label, its control, a hint and what is wrong. */
export function Field({ label, hint, error, hideLabel, name, children }: FieldProps) {
  const id = useId();
  const { issues } = useContext(Context);
  const wrong = error ?? (name ? issues.get(name) : undefined);
  const described = [hint ? `${id}-hint` : '', wrong ? `${id}-error` : ''].filter(Boolean).join(' ');
  return (
    <div className="min-w-0 space-y-1">
      <label htmlFor={id} className={hideLabel ? 'sr-only' : 'block font-medium'}>
        {label}
      </label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': wrong ? true : undefined })}
      {hint && (
        <p id={`${id}-hint`} className="text-meta text-muted">
          {hint}
        </p>
      )}
      {wrong && (
        <p id={`${id}-error`} className="text-meta font-medium text-bad">
          <Words text={wrong} />
        </p>
      )}
    </div>
  );
}

type Labelled = Pick<FieldProps, 'label' | 'hint' | 'error' | 'hideLabel'>;

/** One line of text. */
export function TextField({ label, hint, error, hideLabel, className, ...rest }: Labelled & ComponentProps<'input'>) {
  return (
    <Field label={label} hint={hint} error={error} hideLabel={hideLabel ?? false} name={rest.name}>
      {(control) => (
        <input type="text" {...control} {...rest} className={classes(CONTROL, 'h-9 pointer-coarse:h-11', className)} />
      )}
    </Field>
  );
}

/** A password, which can be shown. */
export function PasswordField({ label, hint, error, hideLabel, ...rest }: Labelled & ComponentProps<'input'>) {
  const [shown, setShown] = useState(false);
  return (
    <Field label={label} hint={hint} error={error} hideLabel={hideLabel ?? false} name={rest.name}>
      {(control) => (
        <div className="relative">
          <input
            type={shown ? 'text' : 'password'}
            {...control}
            {...rest}
            className={classes(CONTROL, 'h-9 pr-10 pointer-coarse:h-11')}
          />
          <IconButton
            label={shown ? t.hide : t.show}
            size="small"
            className="absolute top-1 right-1 pointer-coarse:top-0"
            onClick={() => setShown(!shown)}
          >
            {shown ? <Icon of={EyeOff} size={14} /> : <Icon of={Eye} size={14} />}
          </IconButton>
        </div>
      )}
    </Field>
  );
}

/** Several lines of text. */
export function TextArea({ label, hint, error, hideLabel, className, ...rest }: Labelled & ComponentProps<'textarea'>) {
  return (
    <Field label={label} hint={hint} error={error} hideLabel={hideLabel ?? false} name={rest.name}>
      {(control) => <textarea rows={3} {...control} {...rest} className={classes(CONTROL, 'py-2', className)} />}
    </Field>
  );
}

/** A choice of a few. The options are `<option>` elements. */
export function Select({ label, hint, error, hideLabel, className, ...rest }: Labelled & ComponentProps<'select'>) {
  return (
    <Field label={label} hint={hint} error={error} hideLabel={hideLabel ?? false} name={rest.name}>
      {(control) => (
        <select {...control} {...rest} className={classes(CONTROL, 'h-9 pointer-coarse:h-11', className)} />
      )}
    </Field>
  );
}

/** A box to tick. Its value in the form is `on` or absent. */
export function Checkbox({ label, hint, className, ...rest }: { label: ReactNode; hint?: ReactNode } & ComponentProps<'input'>) {
  const id = useId();
  return (
    <div className={classes('flex items-start gap-2', className)}>
      <input
        type="checkbox"
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        className="mt-0.5 size-4 shrink-0 accent-(--accent)"
        {...rest}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint && (
          <p id={`${id}-hint`} className="text-meta text-muted">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

/** A switch that acts at once. */
export function Switch({
  label,
  hint,
  checked,
  onChange,
  disabled,
}: {
  label: string;
  hint?: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className="flex items-start justify-between gap-4">
      <div className="min-w-0 break-words">
        <span id={id} className="font-medium">
          {label}
        </span>
        {hint && <p className="text-meta text-muted">{hint}</p>}
      </div>
      <button
        type="button"
        role="switch"
        aria-checked={checked}
        aria-labelledby={id}
        disabled={disabled}
        onClick={() => onChange(!checked)}
        className={classes(
          'relative h-5 w-9 shrink-0 rounded-full border transition-colors duration-120',
          checked ? 'border-accent bg-accent' : 'border-control bg-raised',
        )}
      >
        <span
          className={classes(
            'absolute top-0.5 left-0.5 size-3.5 rounded-full transition-transform duration-120',
            checked ? 'translate-x-4 bg-accent-ink' : 'bg-control',
          )}
        />
      </button>
    </div>
  );
}

/** A text field of a form, trimmed; undefined when it is empty. */
export function textOf(data: FormData, name: string): string | undefined {
  const value = data.get(name);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}
