"""The bill of materials of a release, in CycloneDX, from a lock file."""

from __future__ import annotations

from datetime import datetime
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from config.process.release import RELEASE
from tests.release.licences import expression
from tests.release.lock import Pinned, pinned


def bill_of_materials(lock: str, at: datetime) -> str:
    """As JSON, the same for the same lock file and time."""
    ballast = Component(
        name="ballast",
        version=RELEASE,
        type=ComponentType.APPLICATION,
        bom_ref="ballast",
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
    )
    components = [_component(package) for package in pinned(lock)]
    bom = Bom(components=components, serial_number=uuid5(NAMESPACE_URL, f"ballast {RELEASE} {lock} {at.isoformat()}"))
    bom.metadata.component = ballast
    bom.metadata.timestamp = at
    bom.register_dependency(ballast, components)
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"


def _component(package: Pinned) -> Component:
    url = PackageURL(type="pypi", name=package.name, version=package.version)
    return Component(
        name=package.name,
        version=package.version,
        bom_ref=str(url),
        purl=url,
        scope=ComponentScope.OPTIONAL if package.marker else ComponentScope.REQUIRED,
        properties=[Property(name="python:marker", value=package.marker)] if package.marker else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in package.digests],
        licenses=[LicenseFactory().make_from_string(expression(package))],
    )
