import { pageTexts } from './page-texts';
import { sendingTexts } from './sending-texts';

/** The texts of campaigns. */
export const t = { ...pageTexts, ...sendingTexts };
