import { t } from './texts';
import { failed } from './toast';

/** Copies a text. Where that fails, as it does over plain HTTP, it says so. Returns whether it worked. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    failed(new Error(t.notCopied));
    return false;
  }
}
