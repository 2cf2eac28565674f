"""Credentials for the hub: a kubeconfig or the service account of the pod, read at the moment of use."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import yaml
from lightkube import KubeConfig
from lightkube.config.kubeconfig import SingleConfig
from lightkube.core.exceptions import ConfigError

from exporters.core.errors import SettingsError
from exporters.core.http import checked_endpoint
from recommender.emit_settings import HubSettings


def config_of(settings: HubSettings) -> SingleConfig:
    """This will return how the hub is reached.

    Raises:
        SettingsError: no hub is set, or its credentials cannot be read.
    """
    if settings.in_cluster:
        return _checked(_read(KubeConfig.from_service_account, setting="emit.hub.in_cluster"), settings)
    path = settings.kubeconfig
    if path is None:
        raise SettingsError(
            "no hub is set",
            where="emit.hub",
            next_step="Set emit.hub.kubeconfig to a file with credentials for the hub, or emit.hub.in_cluster.",
        )
    return _checked(_read(lambda: KubeConfig.from_file(path), setting="emit.hub.kubeconfig"), settings)


def _read(read: Callable[[], KubeConfig], *, setting: str) -> KubeConfig:
    try:
        return read()
    except (ConfigError, OSError, KeyError, TypeError, AttributeError, yaml.YAMLError, msgspec.MsgspecError) as error:
        raise SettingsError(
            f"the credentials for the hub cannot be read ({type(error).__name__}: {error})",
            where=setting,
            next_step="Check that kubectl reaches the hub with the same file, or that this runs in a pod of it.",
        ) from error


def _checked(found: KubeConfig, settings: HubSettings) -> SingleConfig:
    try:
        config = found.get(settings.context)
    except (ConfigError, KeyError) as error:
        raise SettingsError(
            f"the kubeconfig has no such context, or the context names what is not in it ({error})",
            where="emit.hub.context",
            next_step="Name one that kubectl config get-contexts lists.",
        ) from error
    if config is None or config.user is None:
        raise SettingsError(
            "the context of the kubeconfig names no user",
            where="emit.hub.context",
            next_step="Name a context with credentials; tuppence mode rbac prints the rights that they need.",
        )
    checked_endpoint(config.cluster.server, setting="emit.hub.kubeconfig: server")
    return config
