"""The hub: an exported folder becomes a model repository. No token is taken from a setting or written anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot_grpo.errors import UserError
from bot_grpo.invoked import program
from tasks.hub import is_of_the_client, lost


def check_there(name: str) -> None:
    """Raise UserError at once for a model that is neither in the hub's cache here nor to be had there."""
    if lost(name):
        raise UserError(f"{name!r} is no folder here, and the hub cannot be reached to look for it there")


def check_push(repo: str) -> None:
    """Raise UserError, before any work, where a push could not succeed: a bad name, or no token. No request is made."""
    from huggingface_hub import get_token
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        raise UserError(f"{repo!r} cannot be a model's name on the hub: {' '.join(str(error).split())}") from error
    if repo.count("/") != 1:
        raise UserError(f"{repo!r} has no owner: push to OWNER/NAME")
    if not get_token():
        raise UserError("there is no token for the hub: run `hf auth login`, or set HF_TOKEN")


def push(folder: Path, repo: str, *, private: bool | None = None, message: str = "Upload model") -> str:
    """Make the repository if need be, and upload the folder in one commit. Returns the model's address.

    `private` None: as the owner's settings have it. Raises UserError, which says that the folder is still there.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    check_push(repo)
    api = HfApi()
    try:
        address = api.create_repo(repo, private=private, exist_ok=True)
        api.upload_folder(repo_id=repo, folder_path=folder, commit_message=message)
    except HfHubHTTPError as error:
        raise _kept(folder, repo, f"the hub refused {repo} ({_refusal(error)})") from error
    except (OSError, ValueError, RuntimeError) as error:  # no network, offline mode, a card that the hub refuses
        raise _kept(folder, repo, f"{repo} could not be pushed ({_first_line(error)})") from error
    except Exception as error:
        if not is_of_the_client(error):
            raise
        raise _kept(folder, repo, f"the hub cannot be reached ({_first_line(error)})") from error
    return str(address)


def _kept(folder: Path, repo: str, what: str) -> UserError:
    again = f"{program()} export {folder} --push-to-hub {repo}"
    return UserError(f"{what}; the export is whole in {folder}, and can be pushed again: {again}")


def _refusal(error: Any) -> str:
    status = error.response.status_code
    known = {401: "401: the token is not valid", 403: "403: the token may not write there", 404: "404: no such owner"}
    return known.get(status, f"{status}: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
