import { type ReactNode, useState } from 'react';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { type Config, type StepType, textAt } from '../model/graph';
import { ConditionFields, SplitFields } from './BranchFields';
import { faultsOf } from './check';
import { ExitFields, SegmentFields, UpdateFields } from './ContactFields';
import { type Edit, tidy } from './edit';
import { MailFields } from './MailFields';
import { t } from './texts';
import { DelayFields, WaitForEventFields, WaitUntilFields } from './WaitingFields';
import { WebhookFields } from './WebhookFields';

/** What is set at a step. */
export interface StepValues {
  readonly name: string;
  readonly config: Config;
  readonly templateId: string | null;
}

const MAX_NAME = 100;

/** While a mail is edited, its template is part of the configuration, as earlier clients have it. */
function joined(type: StepType, values: StepValues): Config {
  const template = values.templateId ?? textAt(values.config, 'templateId');
  return type === 'SEND_EMAIL' ? { ...values.config, templateId: template } : values.config;
}

function split(type: StepType, name: string, config: Config): StepValues {
  if (type !== 'SEND_EMAIL') return { name, config: tidy(config), templateId: null };
  const { templateId, ...rest } = config;
  return { name, config: tidy(rest), templateId: typeof templateId === 'string' && templateId ? templateId : null };
}

/** The form of a step. What is wrong is said at its field as soon as the field was touched. */
export function StepForm({ type, initial, eventName, templateName, action, children, onDirty, onSubmit }: {
  type: Exclude<StepType, 'TRIGGER'>;
  initial: StepValues;
  eventName: string;
  templateName?: string | undefined;
  action: string;
  children?: ReactNode;
  onDirty: (dirty: boolean) => void;
  onSubmit: (values: StepValues) => Promise<unknown>;
}) {
  const [name, setName] = useState(initial.name);
  const [config, setConfig] = useState(() => joined(type, initial));
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [tried, setTried] = useState(false);
  const [invalid, setInvalid] = useState(false);
  const faults = faultsOf(type, config);
  const set = (change: Config) => {
    setTouched((before) => new Set([...before, ...Object.keys(change)]));
    setConfig((before) => tidy({ ...before, ...change }));
    onDirty(true);
  };
  const fault = (path: string) => {
    // conditions that are not filled in are no fault of their outline
    if (tried && invalid && path === 'condition') return t.issues.tree;
    const [first = ''] = path.split('.');
    return tried || touched.has(first) ? faults.get(`config.${path}`) : undefined;
  };
  const replace = (to: Config) => {
    setConfig(to);
    onDirty(true);
  };
  const submit = () => {
    setTried(true);
    if (faults.size > 0 || invalid) return;
    return onSubmit(split(type, name.trim() || t.kinds[type].name, config));
  };
  return (
    <Form onSubmit={submit} noValidate>
      <Fields type={type} edit={{ config, set, fault, eventName }} replace={replace} onInvalid={setInvalid} templateName={templateName} />
      <TextField
        label={t.name}
        name="name"
        value={name}
        maxLength={MAX_NAME}
        onChange={(event) => {
          setName(event.target.value);
          onDirty(true);
        }}
      />
      {children}
      <SubmitButton className="w-full">{action}</SubmitButton>
    </Form>
  );
}

function Fields({ type, edit, replace, onInvalid, templateName }: {
  type: Exclude<StepType, 'TRIGGER'>;
  edit: Edit;
  replace: (config: Config) => void;
  onInvalid: (invalid: boolean) => void;
  templateName: string | undefined;
}) {
  switch (type) {
    case 'SEND_EMAIL':
      return <MailFields {...edit} templateName={templateName} />;
    case 'DELAY':
      return <DelayFields {...edit} />;
    case 'WAIT_FOR_EVENT':
      return <WaitForEventFields {...edit} />;
    case 'WAIT_UNTIL':
      return <WaitUntilFields {...edit} />;
    case 'CONDITION':
      return <ConditionFields {...edit} replace={replace} onInvalid={onInvalid} />;
    case 'RANDOM_SPLIT':
      return <SplitFields {...edit} />;
    case 'WEBHOOK':
      return <WebhookFields {...edit} onInvalid={onInvalid} />;
    case 'UPDATE_CONTACT':
      return <UpdateFields {...edit} />;
    case 'ADD_TO_SEGMENT':
    case 'REMOVE_FROM_SEGMENT':
      return <SegmentFields {...edit} />;
    case 'EXIT':
      return <ExitFields {...edit} />;
  }
}
