// Files of a sent message: small images, and names of everything else; each is downloaded by a button.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors } from "../model/app-state";
import type { AttachmentDetail } from "../wire/types";
import { isShownImage, keptImage, loadImage, saveFile } from "../wire/file-transfer";
import { t } from "../text/translate";
import { Icon } from "./icons";

export function SentFiles({ files }: { files: readonly AttachmentDetail[] }): JSX.Element | null {
  if (files.length === 0) return null;
  return (
    <ul class="sent-files" aria-label={t("Attached files")}>
      {files.map((file) => (
        <li key={file.id}>
          <SentFile file={file} />
        </li>
      ))}
    </ul>
  );
}

function SentFile({ file }: { file: AttachmentDetail }): JSX.Element {
  const [image, setImage] = useState(() => keptImage(file));
  useEffect(() => {
    let isGone = false;
    // Without the image its name stays.
    if (isShownImage(file)) loadImage(file).then((address) => !isGone && setImage(address), () => undefined);
    return () => void (isGone = true);
  }, [file.id]);
  const label = t("Download {name}", { name: file.name });
  return (
    <button type="button" class="sent-file quiet" aria-label={label} title={label} onClick={() => void reportErrors(() => saveFile(file))}>
      {image === "" ? <Icon name="file" /> : <img src={image} alt="" />}
      <bdi>{file.name}</bdi>
    </button>
  );
}
