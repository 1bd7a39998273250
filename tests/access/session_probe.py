"""Pages on the real decorators: what a session does to any page, without the rest of the product."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import path

from merchants.access.log_in.sessions import MemberRequest, log_in, member_required, operators_log_in
from merchants.roles import Action


@member_required
def page(request: MemberRequest, number: int = 0) -> HttpResponse:
    return JsonResponse(
        {"merchant": request.merchant.name, "role": request.member.role, "environment": request.environment}
    )


@member_required(action=Action.MAKE_KEY)
def developers_page(request: MemberRequest) -> HttpResponseBase:
    return page(request)


def enter(request: HttpRequest) -> HttpResponse:
    log_in(request, email=request.POST["email"], password=request.POST["password"])
    return HttpResponse(request.session.session_key)


urlpatterns = [
    path("page", page, name="dashboard"),
    path("developers", developers_page),
    path("enter", enter),
    path("login", enter, name="login"),
    path("admin/login/", operators_log_in),
    path("admin/", admin.site.urls),
]
