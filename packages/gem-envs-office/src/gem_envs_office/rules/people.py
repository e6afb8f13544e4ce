"""Actions on employees, their equipment and their access."""

from __future__ import annotations

from typing import Any

from gem_envs_office.office import Office, action, required, set_status
from gem_envs_office.values import OfficeRefusalError

__all__: list[str] = []


@action
def create_employee(office: Office, name: str, **columns: Any) -> dict[str, Any]:
    if office.store.find("employees", name=name):
        raise OfficeRefusalError(f"There is an employee named {name!r} already.")
    domain = office.actor["email"].partition("@")[2]
    email = f"{'.'.join(name.lower().split())}@{domain}"
    key = office.store.insert("employees", name=name, email=email, role="staff", status="active", **columns)
    return {"employee_id": key, "email": email}


@action
def record_departure(office: Office, employee_id: str) -> dict[str, Any]:
    return set_status(office, "employees", employee_id, "active", "leaving")


@action
def set_deputy(office: Office, employee_id: str, deputy_id: str) -> dict[str, Any]:
    if employee_id == deputy_id:
        raise OfficeRefusalError("Nobody is their own deputy.")
    office.store.update("employees", employee_id, deputy_id=deputy_id)
    return {"employee_id": employee_id, "deputy_id": deputy_id}


@action
def assign_asset(office: Office, asset_id: str, employee_id: str) -> dict[str, Any]:
    required(office, "assets", asset_id, status="in_stock")
    office.store.update("assets", asset_id, status="assigned", employee_id=employee_id)
    return {"asset_id": asset_id, "employee_id": employee_id}


@action
def return_asset(office: Office, asset_id: str) -> dict[str, Any]:
    return set_status(office, "assets", asset_id, "assigned", "in_stock", employee_id=None)


@action
def assign_desk(office: Office, desk_id: str, employee_id: str) -> dict[str, Any]:
    required(office, "desks", desk_id, status="free")
    office.store.update("desks", desk_id, status="taken", employee_id=employee_id)
    return {"desk_id": desk_id, "employee_id": employee_id}


@action
def release_desk(office: Office, desk_id: str) -> dict[str, Any]:
    return set_status(office, "desks", desk_id, "taken", "free", employee_id=None)


@action
def create_account(office: Office, employee_id: str) -> dict[str, Any]:
    if office.store.find("accounts", employee_id=employee_id):
        raise OfficeRefusalError(f"{employee_id} has an account already.")
    return {"account_id": office.store.insert("accounts", employee_id=employee_id, status="active")}


@action
def lock_account(office: Office, employee_id: str) -> dict[str, Any]:
    accounts = office.store.find("accounts", employee_id=employee_id, status="active")
    if not accounts:
        raise OfficeRefusalError(f"{employee_id} has no active account.")
    office.store.update("accounts", accounts[0]["account_id"], status="locked")
    return {"account_id": accounts[0]["account_id"], "status": "locked"}


@action
def grant_access(office: Office, employee_id: str, system_id: str) -> dict[str, Any]:
    if not office.store.find("accounts", employee_id=employee_id, status="active"):
        raise OfficeRefusalError(f"{employee_id} has no active account; it comes first (create_account).")
    if office.store.find("access_grants", employee_id=employee_id, system_id=system_id):
        raise OfficeRefusalError(f"{employee_id} has access to {system_id} already.")
    key = office.store.insert(
        "access_grants", employee_id=employee_id, system_id=system_id, granted_on=office.today, granted_at=office.seq
    )
    return {"grant_id": key}


@action
def revoke_access(office: Office, employee_id: str, system_id: str) -> dict[str, Any]:
    grants = office.store.find("access_grants", employee_id=employee_id, system_id=system_id)
    if not grants:
        raise OfficeRefusalError(f"{employee_id} has no access to {system_id}.")
    office.store.delete("access_grants", grants[0]["grant_id"])
    return {"revoked": grants[0]["grant_id"]}
