import { type ComponentProps, forwardRef } from 'react';
import { Link, type Target } from '#/router';
import { classes } from './classes';

type Variant = 'primary' | 'default' | 'ghost' | 'danger';
type Size = 'small' | 'medium';

const VARIANTS: Record<Variant, string> = {
  primary: 'bg-accent text-accent-ink border-transparent hover:opacity-90',
  default: 'bg-panel text-ink border-control hover:bg-raised',
  ghost: 'bg-transparent text-ink border-transparent hover:bg-raised',
  danger: 'bg-bad text-bad-ink border-transparent hover:opacity-90',
};
const SIZES: Record<Size, string> = {
  small: 'h-7 px-2 text-meta gap-1 pointer-coarse:h-11',
  medium: 'h-8 px-3 text-body gap-1.5 pointer-coarse:h-11',
};

function look(variant: Variant, size: Size, square: boolean): string {
  return classes(
    'inline-flex items-center justify-center rounded-control border font-medium whitespace-nowrap select-none',
    'transition-opacity duration-120 disabled:opacity-50 aria-disabled:opacity-50',
    VARIANTS[variant],
    SIZES[size],
    square && 'aspect-square px-0!',
  );
}

/** How a button looks. At most one `primary` on a page. */
export interface Look {
  variant?: Variant;
  size?: Size;
}

interface ButtonProps extends ComponentProps<'button'>, Look {
  /** While it is, the button shows that its work is under way and cannot be pressed. */
  busy?: boolean;
}

/** A button. Its type is `button`; forms have `SubmitButton`. */
export const Button = forwardRef<HTMLButtonElement, ButtonProps>(function Button(
  { variant = 'default', size = 'medium', busy = false, className, disabled, ...rest },
  ref,
) {
  return (
    <button
      ref={ref}
      type="button"
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={classes(look(variant, size, false), className)}
      {...rest}
    />
  );
});

interface IconButtonProps extends Omit<ButtonProps, 'children'> {
  /** What it does; it is the button's name and its tooltip. */
  label: string;
  children: React.ReactNode;
}

/** A square button with an icon and a name. */
export const IconButton = forwardRef<HTMLButtonElement, IconButtonProps>(function IconButton(
  { label, variant = 'ghost', size = 'medium', busy = false, className, disabled, ...rest },
  ref,
) {
  return (
    <button
      ref={ref}
      type="button"
      aria-label={label}
      title={label}
      disabled={disabled || busy}
      className={classes(look(variant, size, true), className)}
      {...rest}
    />
  );
});

interface LinkLookProps extends ComponentProps<'a'>, Look {}

/** A link out of the dashboard that looks like a button. Within it, `LinkButton` is right. */
export const AnchorButton = forwardRef<HTMLAnchorElement, LinkLookProps>(function AnchorButton(
  { variant = 'default', size = 'medium', className, children, ...rest },
  ref,
) {
  return (
    <a ref={ref} className={classes(look(variant, size, false), className)} {...rest}>
      {children}
    </a>
  );
});

/** A link to a page of the dashboard that looks like a button. */
export function LinkButton({
  variant = 'default',
  size = 'medium',
  className,
  ...rest
}: Target & Look & Omit<ComponentProps<'a'>, 'href'>) {
  return <Link className={classes(look(variant, size, false), className)} {...rest} />;
}

/** A link to a page of the dashboard within text. */
export function TextLink({ className, ...rest }: ComponentProps<typeof Link>) {
  return <Link className={classes('font-medium text-accent underline-offset-2 hover:underline', className)} {...rest} />;
}
