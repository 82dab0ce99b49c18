import { rawRequest, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';

/** A picture that the project has. */
export type Picture = Schemas['UploadView'];

/** The types that the service takes. */
export const PICTURE_TYPES = 'image/png,image/jpeg,image/gif,image/webp';

/** The pictures among files that were dropped or pasted. */
export function picturesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])].filter((file) => PICTURE_TYPES.split(',').includes(file.type));
}

/** Uploads a picture. */
export async function upload(file: File): Promise<Picture> {
  const form = new FormData();
  form.append('image', file);
  const answer = await rawRequest('/uploads/image', { method: 'POST', body: form });
  const picture = (await answer.json()) as Picture;
  void queries.invalidateQueries({ queryKey: projectKey('uploads') });
  return picture;
}
